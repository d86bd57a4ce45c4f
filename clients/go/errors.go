package gatehouse

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The kinds of an APIError, for errors.Is.
var (
	// ErrInvalidRequest: 400. Correct the fields in Details.
	ErrInvalidRequest = errors.New("the request is invalid")
	// ErrUnauthorized: 401. The API key is missing, unknown, revoked or of the other environment. From Direct also: the merchant may not use this environment.
	ErrUnauthorized = errors.New("the API key is refused")
	// ErrForbidden: 403. The merchant may not use this environment, or the key may not refund.
	ErrForbidden = errors.New("the request is forbidden")
	// ErrNotFound: 404. No such order or refund, or the address is not a gateway's.
	ErrNotFound = errors.New("not found")
	// ErrIdempotencyConflict: 422. The Idempotency-Key was used with another request.
	ErrIdempotencyConflict = errors.New("the idempotency key was used with another request")
	// ErrTooManyRequests: 429. Repeat the request after RetryAfter.
	ErrTooManyRequests = errors.New("a limit was reached")
	// ErrServer: 5xx. The gateway failed. The same request may be repeated.
	ErrServer = errors.New("the gateway failed")
)

// ErrTimedOut is the kind of a ConnectionError of a request that was not answered in time.
var ErrTimedOut = errors.New("no answer arrived in time")

// ConfigurationError says that the client is set up wrongly. Nothing was sent.
type ConfigurationError struct{ Message string }

func (e *ConfigurationError) Error() string { return e.Message }

// ConnectionError says that no answer arrived. The request may have been carried out: repeat it with the same numbers, or
// verify the order.
type ConnectionError struct {
	Message string
	// RequestID is the X-Request-Id that was sent.
	RequestID string
	cause     error
}

func (e *ConnectionError) Error() string {
	return fmt.Sprintf("%s (request id %s)", e.Message, e.RequestID)
}

// Unwrap gives the cause: ErrTimedOut, or the error of the HTTP client.
func (e *ConnectionError) Unwrap() error { return e.cause }

// UnexpectedAnswerError says that something answered that is not a gateway, such as a proxy's page.
type UnexpectedAnswerError struct {
	Message   string
	Status    int
	RequestID string
}

func (e *UnexpectedAnswerError) Error() string {
	return fmt.Sprintf("%s (request id %s)", e.Message, e.RequestID)
}

// APIError is an error that the gateway answered. errors.Is tells its kind.
type APIError struct {
	Status int
	// APIMessage is the message of the answer.
	APIMessage string
	// Details are the problems that the gateway found.
	Details []ErrorDetail
	// RequestID is the X-Request-Id of the answer. Quote it to the operator of the gateway.
	RequestID string
	// RetryAfter is the time after which the request may be repeated; nil when the gateway gave none.
	RetryAfter *time.Duration
	// MayHaveHappened tells whether the status is 5xx, or an earlier try of the request got a 5xx or no answer.
	MayHaveHappened bool
	advice          string
}

// MayHaveHappened tells whether the gateway may have carried out the request that ended with the error. Then repeat it only
// with the same numbers: with a new number, a refund or a payment could be made twice. It is false when the request was refused
// or not sent.
func MayHaveHappened(err error) bool {
	var refused *APIError
	if errors.As(err, &refused) {
		return refused.MayHaveHappened
	}
	var notSent *ConfigurationError
	return err != nil && !errors.As(err, &notSent)
}

func (e *APIError) Error() string {
	parts := []string{fmt.Sprintf("%d %s", e.Status, e.APIMessage)}
	problems := make([]string, 0, len(e.Details))
	for _, detail := range e.Details {
		problems = append(problems, detail.Field+" "+detail.Issue)
	}
	if len(problems) > 0 {
		parts = append(parts, strings.Join(problems, "; "))
	}
	if e.advice != "" {
		parts = append(parts, e.advice)
	}
	return fmt.Sprintf("%s (request id %s)", strings.Join(parts, ": "), e.RequestID)
}

// IsUnknownNumber tells whether the gateway has no such order or refund. With another 404 the address is wrong, or another
// server answered.
func (e *APIError) IsUnknownNumber() bool {
	return e.Status == 404 && e.APIMessage == "Not found" && len(e.Details) == 0
}

var kinds = map[int]error{
	400: ErrInvalidRequest,
	401: ErrUnauthorized,
	403: ErrForbidden,
	404: ErrNotFound,
	422: ErrIdempotencyConflict,
	429: ErrTooManyRequests,
}

// Is tells whether the error is of a kind, such as ErrNotFound.
func (e *APIError) Is(kind error) bool {
	if e.Status >= 500 {
		return kind == ErrServer
	}
	known, ok := kinds[e.Status]
	return ok && kind == known
}

// Why a webhook is refused.
const (
	MissingHeader   = "missing_header"
	MalformedHeader = "malformed_header"
	TooOld          = "too_old"
	TooNew          = "too_new"
	NoMatch         = "no_match"
	MalformedBody   = "malformed_body"
)

var refusals = map[string]string{
	MissingHeader:   "the request lacks a header that every webhook has",
	MalformedHeader: "a header of the webhook is malformed",
	TooOld:          "the webhook is too old: it may be a repeated recording, or the clock of this server is wrong",
	TooNew:          "the webhook is from the future: the clock of this server is probably wrong",
	NoMatch:         "no secret gives this signature: the body was changed, or the secrets are not the current ones",
	MalformedBody:   "the body is not the JSON of a webhook",
}

// WebhookVerificationError says that a webhook is not genuine, or is too old. Answer 401, and do not act on it.
type WebhookVerificationError struct{ Reason string }

func (e *WebhookVerificationError) Error() string { return refusals[e.Reason] }
