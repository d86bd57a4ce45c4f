package gatehouse

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"
)

const (
	firstPause   = 250 * time.Millisecond
	longestPause = 8 * time.Second
	// largestAnswer is far more than a gateway answers, in bytes.
	largestAnswer = 1 << 20
)

// call is a request, the same in all its repeats.
type call struct {
	url     string
	body    []byte
	headers http.Header
	// wait is added to the time for an answer.
	wait time.Duration
	// end is the end of a wait for an order. No repeat begins after it. It is zero for other calls.
	end time.Time
}

// timeout is the time for one answer.
func (r *call) timeout(longest time.Duration) time.Duration {
	if r.end.IsZero() {
		return longest + r.wait
	}
	// The gateway waits for whole seconds, so up to one more than is left.
	return longest + min(r.wait, max(0, time.Until(r.end))+time.Second)
}

type answer struct {
	status    int
	body      []byte
	headers   http.Header
	requestID string
	// baseURL is the address that answered.
	baseURL string
}

// send sends a request, and repeats it while that is useful.
func (c *Client) send(ctx context.Context, path string, body any, wait time.Duration, options []CallOption) (*answer, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, &ConfigurationError{err.Error()}
	}
	request := &call{url: c.settings.BaseURL + path, body: text, headers: http.Header{}, wait: wait}
	request.headers.Set("X-Request-Id", newID())
	for _, option := range options {
		option(request)
	}
	for _, name := range []string{"X-Request-Id", "Idempotency-Key"} {
		for _, value := range request.headers.Values(name) {
			if !headerValue.MatchString(value) {
				return nil, &ConfigurationError{"a request ID or an idempotency key is printable ASCII and not empty"}
			}
		}
	}
	// The name of this header is written as the API's documentation writes it.
	request.headers["apiKey"] = []string{c.settings.APIKey}
	request.headers.Set("Content-Type", "application/json")
	request.headers.Set("User-Agent", "gatehouse-client-go/"+Version)
	mayHaveHappened := false
	for repeats := 0; ; repeats++ {
		answered, err := c.attempt(ctx, request)
		if err == nil {
			return answered, nil
		}
		var refused *APIError
		if errors.As(err, &refused) {
			refused.MayHaveHappened = refused.MayHaveHappened || mayHaveHappened
		}
		mayHaveHappened = mayHaveHappened || MayHaveHappened(err)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		wait, repeat := c.pauseBeforeRepeat(err, repeats)
		if !repeat || (!request.end.IsZero() && time.Now().Add(wait).After(request.end)) {
			return nil, err
		}
		if err := pause(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// pauseBeforeRepeat tells whether a request is repeated, and after which pause. Repeated are requests without an answer, 5xx,
// and 429 with a Retry-After. The pause doubles each time and varies, so that clients that failed together do not return together.
func (c *Client) pauseBeforeRepeat(err error, repeats int) (time.Duration, bool) {
	if repeats >= c.settings.Retries {
		return 0, false
	}
	wait := varied(min(longestPause, firstPause<<min(repeats, 10)))
	var unanswered *ConnectionError
	if errors.As(err, &unanswered) {
		return wait, true
	}
	var answered *APIError
	if !errors.As(err, &answered) || !(errors.Is(err, ErrServer) || errors.Is(err, ErrTooManyRequests)) {
		return 0, false
	}
	if answered.RetryAfter == nil {
		return wait, errors.Is(err, ErrServer)
	}
	return *answered.RetryAfter + wait, *answered.RetryAfter <= c.settings.LongestRetryAfter
}

func (c *Client) attempt(ctx context.Context, request *call) (*answer, error) {
	timeout := request.timeout(c.settings.Timeout)
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	sent, err := http.NewRequestWithContext(limited, http.MethodPost, request.url, bytes.NewReader(request.body))
	if err != nil {
		return nil, &ConfigurationError{err.Error()}
	}
	sent.Header = request.headers.Clone()
	// Otherwise the transport repeats a request with an Idempotency-Key by itself, and hides that its answer was lost.
	sent.GetBody = nil
	response, err := c.settings.HTTPClient.Do(sent)
	if err != nil {
		return nil, noAnswer(request, timeout, limited, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, largestAnswer))
	if err != nil {
		return nil, noAnswer(request, timeout, limited, err)
	}
	answered := &answer{status: response.StatusCode, body: body, headers: response.Header, requestID: response.Header.Get("X-Request-Id"), baseURL: c.settings.BaseURL}
	if answered.requestID == "" {
		answered.requestID = request.headers.Get("X-Request-Id")
	}
	return c.judge(answered)
}

func noAnswer(request *call, timeout time.Duration, limited context.Context, cause error) error {
	id := request.headers.Get("X-Request-Id")
	if errors.Is(limited.Err(), context.DeadlineExceeded) {
		return &ConnectionError{fmt.Sprintf("no answer from %s within %s", request.url, timeout), id, ErrTimedOut}
	}
	return &ConnectionError{fmt.Sprintf("no answer from %s: %s", request.url, cause), id, cause}
}

// judge gives the answer when it is a success.
func (c *Client) judge(answered *answer) (*answer, error) {
	var body struct {
		Message string        `json:"message"`
		Details []ErrorDetail `json:"details"`
	}
	isJSON := json.Unmarshal(answered.body, &body) == nil
	if answered.status >= 200 && answered.status < 300 {
		if isJSON {
			return answered, nil
		}
		return nil, answered.unexpected("JSON")
	}
	if answered.status >= 300 && answered.status < 400 {
		text := c.settings.BaseURL + " redirects requests to another address: use that one"
		return nil, &UnexpectedAnswerError{text, answered.status, answered.requestID}
	}
	failure := &APIError{
		Status:     answered.status,
		APIMessage: body.Message,
		Details:    body.Details,
		RequestID:  answered.requestID,
		RetryAfter: retryAfter(answered.headers.Get("Retry-After")),

		MayHaveHappened: answered.status >= 500,
	}
	if failure.APIMessage == "" {
		failure.APIMessage = http.StatusText(answered.status)
	}
	if answered.status == http.StatusUnauthorized {
		failure.advice = fmt.Sprintf(
			"a %s works only at the %s address of the gateway: check that %s is that address, and that the key is not revoked",
			keyKinds[c.Environment], c.Environment, c.settings.BaseURL)
	}
	return nil, failure
}

// retryAfter reads a Retry-After: seconds, or a date.
func retryAfter(text string) *time.Duration {
	var wait time.Duration
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if date, err := http.ParseTime(text); err == nil {
		wait = time.Duration(math.Ceil(max(0, time.Until(date)).Seconds())) * time.Second
	} else {
		return nil
	}
	return &wait
}
