package gatehouse

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Tolerance is how far the timestamp of a webhook may be from the receiver's clock.
const Tolerance = 5 * time.Minute

const secretPrefix = "whsec_"

var (
	unixSeconds  = regexp.MustCompile(`^[0-9]{1,15}$`)
	svcSignature = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// VerifyWebhook checks webhook-signature, and that the webhook is at most five minutes old. body is the bytes as they arrived:
// JSON that was parsed and written again has another signature. secrets holds the signing secret, or two during a rotation.
// The error is a *WebhookVerificationError when the webhook is not genuine, and a *ConfigurationError when a secret is unusable.
func VerifyWebhook(headers http.Header, body []byte, secrets []string) (*WebhookEvent, error) {
	return VerifyWebhookAt(time.Now(), headers, body, secrets)
}

// VerifyWebhookAt is VerifyWebhook with another clock.
func VerifyWebhookAt(now time.Time, headers http.Header, body []byte, secrets []string) (*WebhookEvent, error) {
	keys, err := decodeSecrets(secrets)
	if err != nil {
		return nil, err
	}
	id, timestamp, signature := headerOf(headers, "webhook-id"), headerOf(headers, "webhook-timestamp"), headerOf(headers, "webhook-signature")
	if id == "" || timestamp == "" || signature == "" {
		return nil, &WebhookVerificationError{MissingHeader}
	}
	if !unixSeconds.MatchString(timestamp) {
		return nil, &WebhookVerificationError{MalformedHeader}
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return nil, &WebhookVerificationError{MalformedHeader}
	}
	age, tolerance := now.Unix()-seconds, int64(Tolerance/time.Second)
	if age > tolerance {
		return nil, &WebhookVerificationError{TooOld}
	}
	if age < -tolerance {
		return nil, &WebhookVerificationError{TooNew}
	}
	var sent []string
	for _, each := range strings.Split(signature, " ") {
		if strings.HasPrefix(each, "v1,") {
			sent = append(sent, each)
		}
	}
	if len(sent) == 0 {
		return nil, &WebhookVerificationError{MalformedHeader}
	}
	signed := append([]byte(id+"."+timestamp+"."), body...)
	for _, key := range keys {
		expected := []byte("v1," + base64.StdEncoding.EncodeToString(sum(key, signed)))
		for _, each := range sent {
			if hmac.Equal([]byte(each), expected) {
				return parseEvent(body)
			}
		}
	}
	return nil, &WebhookVerificationError{NoMatch}
}

// VerifySvcSignature checks X-SVC-HMAC-Signature. It covers the body only, so it does not tell a recorded webhook from a new
// one: use VerifyWebhook where you can. Its errors are those of VerifyWebhook.
func VerifySvcSignature(headers http.Header, body []byte, secrets []string) (*WebhookEvent, error) {
	if _, err := decodeSecrets(secrets); err != nil {
		return nil, err
	}
	signature := headerOf(headers, "x-svc-hmac-signature")
	if signature == "" {
		return nil, &WebhookVerificationError{MissingHeader}
	}
	if !svcSignature.MatchString(signature) {
		return nil, &WebhookVerificationError{MalformedHeader}
	}
	for _, secret := range secrets {
		if hmac.Equal([]byte(signature), []byte(hex.EncodeToString(sum([]byte(secret), body)))) {
			return parseEvent(body)
		}
	}
	return nil, &WebhookVerificationError{NoMatch}
}

// decodeSecrets gives the bytes of secrets as the dashboard shows them.
func decodeSecrets(secrets []string) ([][]byte, error) {
	if len(secrets) == 0 {
		return nil, &ConfigurationError{"give at least one signing secret"}
	}
	keys := make([][]byte, 0, len(secrets))
	for _, secret := range secrets {
		text, hasPrefix := strings.CutPrefix(secret, secretPrefix)
		key, err := base64.StdEncoding.DecodeString(text)
		// The decoder skips line breaks, and the other signature is made with the text of the secret.
		if !hasPrefix || err != nil || len(key) == 0 || strings.ContainsAny(text, "\r\n") {
			return nil, &ConfigurationError{`a signing secret is "whsec_" and base64, as the dashboard shows it`}
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// headerOf gives the value of a header, whatever the case of its name.
func headerOf(headers http.Header, name string) string {
	for each, values := range headers {
		if strings.EqualFold(each, name) {
			return strings.Join(values, ", ")
		}
	}
	return ""
}

func sum(key, message []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(message)
	return mac.Sum(nil)
}

func parseEvent(body []byte) (*WebhookEvent, error) {
	var data struct {
		Data json.RawMessage `json:"data"`
	}
	event := &WebhookEvent{}
	for _, target := range []any{event, &data} {
		if json.Unmarshal(body, target) != nil {
			return nil, &WebhookVerificationError{MalformedBody}
		}
	}
	var target any
	switch {
	case strings.HasPrefix(event.Type, "refund."):
		event.Refund = &Refund{}
		target = event.Refund
	case strings.HasPrefix(event.Type, "order."), strings.HasPrefix(event.Type, "payment_link."), event.Type == "webhook.test":
		event.Order = &PaymentOrder{}
		target = event.Order
	default:
		// A type of a later version, whose data may have any form.
		target = &json.RawMessage{}
	}
	if json.Unmarshal(data.Data, target) != nil {
		return nil, &WebhookVerificationError{MalformedBody}
	}
	return event, nil
}
