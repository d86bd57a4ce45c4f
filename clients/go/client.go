// Package gatehouse is a client of the Gatehouse payment gateway: payments, refunds, and verification of webhooks.
package gatehouse

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"math"
	mathrand "math/rand"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"time"
)

// Version is the version of this package, and of the OpenAPI document that it was written for.
const Version = "1.0.0"

// The environments.
const (
	Sandbox    = "sandbox"
	Production = "production"
)

// NoRetries is the value of Settings.Retries with which no request is repeated.
const NoRetries = -1

// Settings of a client. APIKey, and BaseURL or BaseURLs, are required.
type Settings struct {
	// APIKey is svc_test_… for the sandbox, or svc_live_… for production. Keep it on your server.
	APIKey string
	// BaseURL is the address of the gateway for the key's environment, such as https://pay.example.
	BaseURL string
	// BaseURLs are the addresses of both environments, instead of BaseURL. The key decides which is used.
	BaseURLs map[string]string
	// Environment is that of BaseURL. With a key of the other environment, nothing is sent.
	Environment string
	// Timeout is the time for one answer: 15 seconds by default.
	Timeout time.Duration
	// Retries is the maximum number of repeats of a request: 3 by default.
	Retries int
	// LongestRetryAfter is the longest Retry-After to wait for: 30 seconds by default.
	LongestRetryAfter time.Duration
	// HTTPClient sends the requests. The client uses a copy that follows no redirects.
	HTTPClient *http.Client
}

// Client is a client of the merchant API of one environment. It may be used by several goroutines.
//
// Requests without an answer, 5xx, and 429 with a short Retry-After are repeated. That is safe, because the numbers of orders
// and refunds identify them: a repeat never charges or refunds twice.
type Client struct {
	// Environment is that of the API key.
	Environment string
	settings    Settings
}

// CallOption changes one call.
type CallOption func(*call)

// WithRequestID sets the X-Request-Id, which is found in the gateway's logs. Each call has a new one by default.
func WithRequestID(id string) CallOption {
	return func(c *call) { c.headers.Set("X-Request-Id", id) }
}

// WithIdempotencyKey sets the Idempotency-Key of Register, Direct or Refund. Each call has a new one by default. A stored one
// gives the same answer, byte for byte, to a repeat within 24 hours.
func WithIdempotencyKey(key string) CallOption {
	return func(c *call) { c.headers.Set("Idempotency-Key", key) }
}

var (
	printable   = regexp.MustCompile(`^[!-~]+$`)
	headerValue = regexp.MustCompile(`^[ -~]+$`)
)

var keyKinds = map[string]string{Sandbox: "test key (svc_test_…)", Production: "live key (svc_live_…)"}

// New gives a client. The error is a *ConfigurationError.
func New(settings Settings) (*Client, error) {
	environment := ""
	switch {
	case !printable.MatchString(settings.APIKey):
	case strings.HasPrefix(settings.APIKey, "svc_test_"):
		environment = Sandbox
	case strings.HasPrefix(settings.APIKey, "svc_live_"):
		environment = Production
	}
	if environment == "" {
		return nil, &ConfigurationError{"an API key begins with svc_test_ (sandbox) or svc_live_ (production)"}
	}
	if own := settings.Environment; own != "" && own != environment {
		if keyKinds[own] == "" {
			return nil, &ConfigurationError{"Environment is sandbox or production"}
		}
		return nil, &ConfigurationError{fmt.Sprintf(
			"a %s works only in the %s environment, and this address is the %s environment: use a %s",
			keyKinds[environment], environment, own, keyKinds[own])}
	}
	if settings.BaseURLs != nil {
		settings.BaseURL = settings.BaseURLs[environment]
	}
	address, err := url.Parse(settings.BaseURL)
	if err != nil || (address.Scheme != "http" && address.Scheme != "https") || address.Host == "" || address.RawQuery != "" || address.Fragment != "" {
		return nil, &ConfigurationError{"BaseURL is the address of the gateway, such as https://pay.example"}
	}
	settings.BaseURL = strings.TrimRight(settings.BaseURL, "/")
	if settings.Timeout < 0 || settings.LongestRetryAfter < 0 || settings.Retries < NoRetries {
		return nil, &ConfigurationError{"Timeout, LongestRetryAfter and Retries are not negative; NoRetries is the only exception"}
	}
	if settings.Timeout == 0 {
		settings.Timeout = 15 * time.Second
	}
	if settings.LongestRetryAfter == 0 {
		settings.LongestRetryAfter = 30 * time.Second
	}
	if settings.Retries == 0 {
		settings.Retries = 3
	}
	sender := http.Client{}
	if settings.HTTPClient != nil {
		sender = *settings.HTTPClient
	}
	// A redirected POST would become a GET, and the API key would reach the other host.
	sender.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	settings.HTTPClient = &sender
	return &Client{Environment: environment, settings: settings}, nil
}

// Register registers an order, and gives the URL of its checkout page.
func (c *Client) Register(ctx context.Context, order RegisterRequest, options ...CallOption) (RegisteredOrder, error) {
	return dataOf[RegisteredOrder](c.create(ctx, "/api/v1/register", order, options))
}

// Direct starts a direct payment: the customer gets a prompt on the phone.
func (c *Client) Direct(ctx context.Context, payment DirectPaymentRequest, options ...CallOption) (DirectPayment, error) {
	path := "/api/v1/direct?" + url.Values{"payment_option": {payment.PaymentOption}}.Encode()
	answered, err := c.create(ctx, path, payment, options)
	if err != nil {
		return DirectPayment{}, err
	}
	return read[DirectPayment](answered, answered.body)
}

// Verify gives the order as it stands. The error is ErrNotFound when you have no such order.
func (c *Client) Verify(ctx context.Context, orderNumber string, options ...CallOption) (PaymentOrder, error) {
	order, _, err := c.verify(ctx, orderNumber, 0, time.Time{}, options)
	return order, err
}

const (
	longestWait = 30 * time.Second
	firstPoll   = 500 * time.Millisecond
	longestPoll = 5 * time.Second
)

// Wait gives the order as soon as it has left PENDING, or as it stands after the timeout. The gateway holds the request until
// then, so the outcome arrives at once. A gateway that fails meanwhile is asked again only until then. The error is ErrNotFound when you have no such order.
func (c *Client) Wait(ctx context.Context, orderNumber string, timeout time.Duration, options ...CallOption) (PaymentOrder, error) {
	end := time.Now().Add(timeout)
	for polls := 0; ; polls++ {
		seconds := int(math.Ceil(min(longestWait, max(0, time.Until(end))).Seconds()))
		order, hasWaited, err := c.verify(ctx, orderNumber, seconds, end, options)
		left := time.Until(end)
		if err != nil || order.Status != "PENDING" || left <= 0 {
			return order, err
		}
		poll := firstPoll
		if !hasWaited {
			poll = min(longestPoll, firstPoll<<min(polls, 10))
		}
		if err := pause(ctx, min(left, varied(poll))); err != nil {
			return order, err
		}
	}
}

// Explain tells what the order waits for, who can change that, and what comes next and when. It is for people and their tools.
// The error is ErrNotFound when you have no such order.
func (c *Client) Explain(ctx context.Context, orderNumber string, options ...CallOption) (OrderExplanation, error) {
	body := map[string]string{"order_number": orderNumber}
	return dataOf[OrderExplanation](c.send(ctx, "/api/v1/explain", body, 0, options))
}

// Refund returns money of a COMPLETED order to the customer. The key needs the scope for refunds.
func (c *Client) Refund(ctx context.Context, refund RefundRequest, options ...CallOption) (Refund, error) {
	return dataOf[Refund](c.create(ctx, "/api/v1/refund", refund, options))
}

// VerifyRefund gives the refund as it stands. The error is ErrNotFound when you have no such refund.
func (c *Client) VerifyRefund(ctx context.Context, refundNumber string, options ...CallOption) (Refund, error) {
	body := map[string]string{"refund_number": refundNumber}
	return dataOf[Refund](c.send(ctx, "/api/v1/refund/verify", body, 0, options))
}

func (c *Client) create(ctx context.Context, path string, body any, options []CallOption) (*answer, error) {
	key := func(created *call) { created.headers.Set("Idempotency-Key", newID()) }
	return c.send(ctx, path, body, 0, append([]CallOption{key}, options...))
}

func (c *Client) verify(ctx context.Context, orderNumber string, waitSeconds int, end time.Time, options []CallOption) (PaymentOrder, bool, error) {
	prefer := func(asked *call) {
		asked.end = end
		if waitSeconds > 0 {
			asked.headers.Set("Prefer", fmt.Sprintf("wait=%d", waitSeconds))
		}
	}
	body := map[string]string{"order_number": orderNumber}
	answered, err := c.send(ctx, "/api/v1/verify", body, time.Duration(waitSeconds)*time.Second, append([]CallOption{prefer}, options...))
	if err != nil {
		return PaymentOrder{}, false, err
	}
	order, err := dataOf[PaymentOrder](answered, nil)
	return order, answered.headers.Get("Preference-Applied") != "", err
}

// dataOf gives the data of an answer.
func dataOf[T any](answered *answer, err error) (T, error) {
	var result T
	if err != nil {
		return result, err
	}
	var envelope struct {
		Data json.RawMessage `json:"data"`
	}
	if json.Unmarshal(answered.body, &envelope) != nil {
		return result, answered.unexpected("what was asked for (the body is no object)")
	}
	return read[T](answered, envelope.Data)
}

// read gives the result of an answer. All fields of a result are texts, and a gateway sends all of them.
func read[T any](answered *answer, text json.RawMessage) (T, error) {
	var result T
	var fields map[string]any
	if json.Unmarshal(text, &fields) != nil || fields == nil {
		return result, answered.unexpected("what was asked for (the result is no object)")
	}
	for _, field := range reflect.VisibleFields(reflect.TypeOf(result)) {
		name := field.Tag.Get("json")
		if _, isText := fields[name].(string); !isText {
			return result, answered.unexpected(fmt.Sprintf("what was asked for (%s is no text)", name))
		}
	}
	if err := json.Unmarshal(text, &result); err != nil {
		return result, answered.unexpected("what was asked for (" + err.Error() + ")")
	}
	return result, nil
}

func (a *answer) unexpected(lack string) error {
	text := fmt.Sprintf("%s answered %d without %s: is it a gateway?", a.baseURL, a.status, lack)
	return &UnexpectedAnswerError{text, a.status, a.requestID}
}

func newID() string {
	bytes := make([]byte, 16)
	if _, err := rand.Read(bytes); err != nil {
		panic(err) // The system has no randomness: nothing would be safe.
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", bytes[:4], bytes[4:6], bytes[6:8], bytes[8:10], bytes[10:])
}

// varied gives a time between half of the time and the whole of it.
func varied(longest time.Duration) time.Duration {
	return longest/2 + time.Duration(mathrand.Int63n(int64(longest/2)+1))
}

// pause waits for the time, or until the context ends.
func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
