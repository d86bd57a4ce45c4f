// These tests run against the gateway that `npm test -- test/clients` starts. GATEHOUSE_TEST_SITE holds its addresses and keys.
package gatehouse

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

type site struct {
	SandboxURL        string `json:"sandbox_url"`
	ProductionURL     string `json:"production_url"`
	FaultyURL         string `json:"faulty_url"`
	TestKey           string `json:"test_key"`
	LiveKey           string `json:"live_key"`
	KeyWithoutRefunds string `json:"key_without_refunds"`
	MailboxURL        string `json:"mailbox_url"`
	SigningSecret     string `json:"signing_secret"`
}

func testSite(t *testing.T) site {
	t.Helper()
	var found site
	if err := json.Unmarshal([]byte(os.Getenv("GATEHOUSE_TEST_SITE")), &found); err != nil {
		t.Fatalf("GATEHOUSE_TEST_SITE: %v; run npm test -- test/clients", err)
	}
	return found
}

func newPhone() string {
	number, _ := rand.Int(rand.Reader, big.NewInt(10_000_000))
	return fmt.Sprintf("+25191%07d", number)
}

func newNumber() string { return "go-" + newID() }

func newOrder() RegisterRequest {
	return RegisterRequest{
		OrderNumber: newNumber(), ReturnURL: "https://shop.example/thanks", Amount: "100.50", Currency: "ETB",
		Reason: "ሦስት መጻሕፍት", CustomerPhone: "0911223344",
	}
}

func newPayment() DirectPaymentRequest {
	return DirectPaymentRequest{
		PaymentOption: "walleta_ussd", OrderNumber: newNumber(), Amount: "100.50", Currency: "ETB", Phone: newPhone(),
	}
}

func mustClient(t *testing.T, settings Settings) *Client {
	t.Helper()
	if settings.APIKey == "" {
		settings.APIKey = testSite(t).TestKey
	}
	if settings.BaseURL == "" && settings.BaseURLs == nil {
		settings.BaseURL = testSite(t).SandboxURL
	}
	client, err := New(settings)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

type seenRequest struct {
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"`
	// Answered is the status of the answer; 0 when the client got none.
	Answered int `json:"answered"`
}

// faulty gives a client of a gateway with a fault, and what it has sent.
func faulty(t *testing.T, fault string, settings Settings) (*Client, func() []seenRequest) {
	t.Helper()
	run, origin := newNumber(), testSite(t).FaultyURL
	settings.BaseURL = fmt.Sprintf("%s/%s/%s/", origin, fault, run)
	return mustClient(t, settings), func() []seenRequest {
		response, err := http.Get(origin + "/requests/" + run)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var seen []seenRequest
		if err := json.NewDecoder(response.Body).Decode(&seen); err != nil {
			t.Fatal(err)
		}
		return seen
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestPaymentsAndRefundsAreMadeOnceEachWhateverFaultTheGatewayHas(t *testing.T) {
	attempts := map[string]int{"none": 1, "first-answer-lost": 2, "first-two-broken": 3, "first-limited": 2, "never-waits": 1}
	for fault, expected := range attempts {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			client, requests := faulty(t, fault, Settings{Timeout: 2 * time.Minute, Retries: 5})
			ctx, order, payment, number := context.Background(), newOrder(), newPayment(), newNumber()
			registered, err := client.Register(ctx, order)
			noError(t, err)
			started, err := client.Direct(ctx, payment)
			noError(t, err)
			paid, err := client.Wait(ctx, payment.OrderNumber, 2*time.Minute)
			noError(t, err)
			refund, err := client.Refund(ctx, RefundRequest{
				OrderNumber: payment.OrderNumber, RefundNumber: number, Amount: "40", Reason: "One book came back",
			})
			noError(t, err)
			decided, err := client.VerifyRefund(ctx, number)
			for end := time.Now().Add(2 * time.Minute); err == nil && decided.Status == "PENDING" && time.Now().Before(end); {
				noError(t, pause(ctx, 50*time.Millisecond))
				decided, err = client.VerifyRefund(ctx, number)
			}
			noError(t, err)

			if !strings.Contains(registered.CheckoutURL, "/c/") {
				t.Errorf("checkout_url %q", registered.CheckoutURL)
			}
			again, err := mustClient(t, Settings{}).Register(ctx, order)
			noError(t, err)
			equal(t, "the same registration", again, registered)
			// A repeat may find that the customer has paid.
			if started.PaymentStatus != "PENDING" && (fault == "none" || started.PaymentStatus != "COMPLETED") {
				t.Errorf("payment_status %q", started.PaymentStatus)
			}
			equal(t, "paid", []string{paid.Status, paid.Deducted, paid.PaymentType}, []string{"COMPLETED", "100.50", "DIRECT"})
			equal(t, "refund", []string{refund.OrderNumber, refund.Amount, decided.Status}, []string{payment.OrderNumber, "40.00", "COMPLETED"})
			checkRequests(t, requests(), expected)
		})
	}
}

func checkRequests(t *testing.T, seen []seenRequest, attempts int) {
	t.Helper()
	for _, path := range []string{"/api/v1/register", "/api/v1/direct", "/api/v1/refund"} {
		var answers []int
		ids := map[string]bool{}
		for _, each := range seen {
			if strings.Split(each.Path, "?")[0] == path {
				answers = append(answers, each.Answered)
				ids[each.Headers["idempotency-key"]+" "+each.Headers["x-request-id"]] = true
			}
		}
		if len(answers) < attempts || len(ids) != 1 || answers[len(answers)-1] != 201 {
			t.Fatalf("%s: answers %v to %v", path, answers, ids)
		}
		for _, status := range answers[:len(answers)-1] {
			// A busy machine may add a 429 or 500 of its own. A success is never repeated.
			if status != 0 && status != 429 && status < 500 {
				t.Errorf("%s: repeated after %d", path, status)
			}
		}
	}
	var waits []string
	for _, each := range seen {
		if prefer := each.Headers["prefer"]; prefer != "" {
			waits = append(waits, prefer)
		}
	}
	if len(waits) == 0 || waits[0] != "wait=30" {
		t.Errorf("waits: %v", waits)
	}
}

func TestAWaitThatIsOverGivesTheOrderAsItStands(t *testing.T) {
	client, requests := faulty(t, "none", Settings{})
	order, ctx := newOrder(), context.Background()
	_, err := client.Register(ctx, order)
	noError(t, err)
	waited, err := client.Wait(ctx, order.OrderNumber, time.Second)
	noError(t, err)
	// The gateway waits, so the client does not ask at intervals.
	if seen := requests(); len(seen) > 3 {
		t.Errorf("a registration and %d verifications", len(seen)-1)
	}
	verified, err := client.Verify(ctx, order.OrderNumber)
	noError(t, err)
	equal(t, "order", []string{waited.Status, verified.Reason}, []string{"PENDING", order.Reason})
}

func TestAWaitRepeatsNoRequestAfterItsEnd(t *testing.T) {
	for _, row := range []struct {
		fault         string
		timeout, wait time.Duration
		kind          error
	}{
		{"unavailable-for-a-while", 0, time.Second, ErrServer},
		{"silent", 200 * time.Millisecond, 100 * time.Millisecond, ErrTimedOut},
	} {
		client, requests := faulty(t, row.fault, Settings{Timeout: row.timeout})
		if _, err := client.Wait(context.Background(), "a", row.wait); !errors.Is(err, row.kind) {
			t.Errorf("%s: %v", row.fault, err)
		}
		equal(t, row.fault, len(requests()), 1)
	}
}

func TestAnIDThatNoHeaderHoldsIsNeverSent(t *testing.T) {
	for _, value := range []string{"", "order\n42", "№42"} {
		for _, option := range []CallOption{WithRequestID(value), WithIdempotencyKey(value)} {
			client, requests := faulty(t, "none", Settings{})
			_, err := client.Register(context.Background(), newOrder(), option)
			var unusable *ConfigurationError
			if !errors.As(err, &unusable) || MayHaveHappened(err) {
				t.Errorf("%q: %v", value, err)
			}
			equal(t, value, len(requests()), 0)
		}
	}
}

func TestAnErrorHasItsKindWhatTheGatewayAnsweredAndTheRequestID(t *testing.T) {
	ctx, order := context.Background(), newOrder()
	order.OrderNumber, order.Amount = "a b", "0"
	_, err := mustClient(t, Settings{}).Register(ctx, order, WithRequestID("mine-1"))
	var invalid *APIError
	if !errors.As(err, &invalid) || !errors.Is(err, ErrInvalidRequest) {
		t.Fatal(err)
	}
	equal(t, "facts", []any{invalid.Status, invalid.APIMessage, invalid.RequestID, len(invalid.Details)}, []any{400, "Bad request", "mine-1", 2})
	if !regexp.MustCompile(`^400 Bad request: order_number .*; amount .* \(request id mine-1\)$`).MatchString(err.Error()) {
		t.Error(err)
	}
	for path, isUnknown := range map[string]bool{"": true, "/shop": false} {
		_, err := mustClient(t, Settings{BaseURL: testSite(t).SandboxURL + path}).Verify(ctx, newNumber())
		var missing *APIError
		if !errors.As(err, &missing) || !errors.Is(err, ErrNotFound) || missing.IsUnknownNumber() != isUnknown {
			t.Error(path, err)
		}
	}
	if _, err := mustClient(t, Settings{APIKey: testSite(t).KeyWithoutRefunds}).VerifyRefund(ctx, newNumber()); !errors.Is(err, ErrForbidden) {
		t.Error(err)
	}
	client, requests := faulty(t, "conflicting-key", Settings{})
	_, err = client.Register(ctx, newOrder(), WithIdempotencyKey("mine-2"))
	if !errors.Is(err, ErrIdempotencyConflict) || !strings.Contains(err.Error(), "of-the-gateway") {
		t.Error(err)
	}
	equal(t, "requests", len(requests()), 1)
	equal(t, "key", requests()[0].Headers["idempotency-key"], "mine-2")
}

func TestAKeyOfTheOtherEnvironmentIsExplainedAndNotSentWhereTheEnvironmentIsKnown(t *testing.T) {
	known, ctx := testSite(t), context.Background()
	_, err := mustClient(t, Settings{APIKey: known.LiveKey}).Verify(ctx, newNumber())
	if !errors.Is(err, ErrUnauthorized) || !strings.Contains(err.Error(), "a live key (svc_live_…) works only at the production address") || strings.Contains(err.Error(), known.LiveKey) {
		t.Error(err)
	}
	both := mustClient(t, Settings{BaseURLs: map[string]string{Sandbox: known.SandboxURL, Production: known.ProductionURL}})
	equal(t, "environment", both.Environment, Sandbox)
	if _, err := both.Verify(ctx, "none"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	for _, settings := range []Settings{
		{APIKey: known.LiveKey, BaseURL: known.SandboxURL, Environment: Sandbox},
		{APIKey: "secret", BaseURL: known.SandboxURL},
		{APIKey: known.TestKey, BaseURL: "pay.example"},
		{APIKey: known.TestKey, BaseURL: known.SandboxURL, Retries: -2},
	} {
		var unusable *ConfigurationError
		if _, err := New(settings); !errors.As(err, &unusable) {
			t.Errorf("%+v: %v", settings, err)
		}
	}
}

func TestAClientGivesUpAsItPromises(t *testing.T) {
	for _, row := range []struct {
		fault      string
		settings   Settings
		kind       error
		status     int
		retryAfter time.Duration
		attempts   int

		mayHaveHappened bool
	}{
		{"limited-for-minutes", Settings{}, ErrTooManyRequests, 429, 300 * time.Second, 1, false},
		{"limited-without-time", Settings{}, ErrTooManyRequests, 429, 0, 1, false},
		{"answer-lost-then-limited", Settings{}, ErrTooManyRequests, 429, 0, 2, true},
		{"always-unavailable", Settings{Retries: 1}, ErrServer, 503, 0, 2, true},
		{"another-site", Settings{}, nil, 200, 0, 1, true},
		{"another-json", Settings{}, nil, 200, 0, 1, true},
		{"redirecting", Settings{}, nil, 302, 0, 1, true},
		{"redirecting", Settings{HTTPClient: &http.Client{}}, nil, 302, 0, 1, true},
		{"silent", Settings{Retries: 1, Timeout: 200 * time.Millisecond}, ErrTimedOut, 0, 0, 2, true},
		{"dripping", Settings{Retries: NoRetries, Timeout: 500 * time.Millisecond}, ErrTimedOut, 0, 0, 1, true},
	} {
		client, requests := faulty(t, row.fault, row.settings)
		_, err := client.Register(context.Background(), newOrder())
		var refused *APIError
		var unexpected *UnexpectedAnswerError
		var unanswered *ConnectionError
		switch {
		case errors.As(err, &refused):
			var wait time.Duration
			if refused.RetryAfter != nil {
				wait = *refused.RetryAfter
			}
			equal(t, row.fault, []any{refused.Status, wait, refused.RequestID != ""}, []any{row.status, row.retryAfter, true})
		case errors.As(err, &unexpected):
			equal(t, row.fault, []any{unexpected.Status, unexpected.RequestID != ""}, []any{row.status, true})
		case errors.As(err, &unanswered):
			equal(t, row.fault, []any{0, unanswered.RequestID != ""}, []any{row.status, true})
		default:
			t.Errorf("%s: %v", row.fault, err)
		}
		if row.kind != nil && !errors.Is(err, row.kind) {
			t.Errorf("%s: %v", row.fault, err)
		}
		equal(t, row.fault, MayHaveHappened(err), row.mayHaveHappened)
		seen := requests()
		equal(t, row.fault, len(seen), row.attempts)
		if !strings.HasPrefix(seen[0].Headers["user-agent"], "gatehouse-client-go/") {
			t.Errorf("user-agent %q", seen[0].Headers["user-agent"])
		}
	}
}

func TestAnEventOfALaterTypeHasNeitherOrderNorRefund(t *testing.T) {
	event, err := parseEvent([]byte(`{"type":"payout.completed","data":{"amount":{"value":"1"},"refund_id":7}}`))
	noError(t, err)
	equal(t, "event", []any{event.Type, event.Order == nil, event.Refund == nil}, []any{"payout.completed", true, true})
}

func TestAnAddressWhereNobodyListensAndACallerWhoLeaves(t *testing.T) {
	var unanswered *ConnectionError
	_, err := mustClient(t, Settings{BaseURL: "http://127.0.0.1:1", Retries: NoRetries}).Verify(context.Background(), "a")
	if !errors.As(err, &unanswered) {
		t.Error(err)
	}
	client, _ := faulty(t, "silent", Settings{})
	ctx, leave := context.WithCancel(context.Background())
	leave()
	if _, err := client.Verify(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func readJSON(t *testing.T, file string, target any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", file))
	noError(t, err)
	noError(t, json.Unmarshal(text, target))
}

func TestSignaturesOfWebhooksAreJudgedAsTheTestVectorsSay(t *testing.T) {
	var file struct {
		Vectors []struct {
			Name             string            `json:"name"`
			Now              int64             `json:"now"`
			Secrets          []string          `json:"secrets"`
			Headers          map[string]string `json:"headers"`
			Body             string            `json:"body_base64"`
			WebhookSignature string            `json:"webhook_signature"`
			SvcSignature     string            `json:"svc_signature"`
		} `json:"vectors"`
	}
	readJSON(t, "signature-vectors.json", &file)
	if len(file.Vectors) < 40 {
		t.Fatalf("only %d vectors", len(file.Vectors))
	}
	verdict := func(event *WebhookEvent, err error) string {
		var refused *WebhookVerificationError
		if errors.As(err, &refused) {
			return refused.Reason
		}
		if err == nil && event.Type == "order.completed" && event.Order.OrderNumber == "INV-2025-0042" {
			return "genuine"
		}
		return fmt.Sprint(event, err)
	}
	for _, vector := range file.Vectors {
		body, err := base64.StdEncoding.DecodeString(vector.Body)
		noError(t, err)
		headers := http.Header{}
		for name, value := range vector.Headers {
			headers[name] = []string{value}
		}
		standard := verdict(VerifyWebhookAt(time.Unix(vector.Now, 0), headers, body, vector.Secrets))
		svc := verdict(VerifySvcSignature(headers, body, vector.Secrets))
		equal(t, vector.Name, []string{standard, svc}, []string{vector.WebhookSignature, vector.SvcSignature})
	}
	for _, secrets := range [][]string{nil, {"secret"}, {"whsec_"}, {"whsec_a"}, {"whsec_YQ==\n"}, {"whsec_Y\nQ=="}} {
		var unusable *ConfigurationError
		if _, err := VerifyWebhook(http.Header{}, nil, secrets); !errors.As(err, &unusable) {
			t.Errorf("%v: %v", secrets, err)
		}
	}
}

func TestAWebhookOfTheRunningGatewayIsGenuineAndAChangedOneIsNot(t *testing.T) {
	site, ctx := testSite(t), context.Background()
	client, err := New(Settings{APIKey: site.TestKey, BaseURL: site.SandboxURL})
	noError(t, err)
	order, payment := newOrder(), newPayment()
	order.OrderNumber, order.WebhookURL = payment.OrderNumber, site.MailboxURL+"/"+newNumber()
	_, err = client.Register(ctx, order)
	noError(t, err)
	_, err = client.Direct(ctx, payment)
	noError(t, err)
	var arrived []struct {
		Headers map[string]string `json:"headers"`
		Body    []byte            `json:"body_base64"`
	}
	for deadline := time.Now().Add(2 * time.Minute); len(arrived) == 0; {
		if time.Now().After(deadline) {
			t.Fatal("no webhook has arrived")
		}
		response, err := http.Get(order.WebhookURL)
		noError(t, err)
		noError(t, json.NewDecoder(response.Body).Decode(&arrived))
		noError(t, response.Body.Close())
	}
	headers, body, secrets := http.Header{}, arrived[0].Body, []string{site.SigningSecret}
	for name, value := range arrived[0].Headers {
		headers.Set(name, value)
	}
	event, err := VerifyWebhook(headers, body, secrets)
	noError(t, err)
	verified, err := client.Verify(ctx, payment.OrderNumber)
	noError(t, err)
	equal(t, "event", []any{event.Type, *event.Order}, []any{"order.completed", verified})
	same, err := VerifySvcSignature(headers, body, secrets)
	noError(t, err)
	equal(t, "event", same, event)
	changed := append(body, ' ')
	_, standard := VerifyWebhook(headers, changed, secrets)
	_, svc := VerifySvcSignature(headers, changed, secrets)
	for _, err := range []error{standard, svc} {
		var refused *WebhookVerificationError
		if !errors.As(err, &refused) {
			t.Errorf("a changed webhook: %v", err)
		}
	}
}

func TestTypesHaveTheFieldsOfTheOpenAPIDocument(t *testing.T) {
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]json.RawMessage `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	readJSON(t, "openapi.json", &document)
	for name, value := range map[string]any{
		"RegisterRequest": RegisterRequest{}, "DirectPaymentRequest": DirectPaymentRequest{}, "DirectPaymentReply": DirectPayment{},
		"RefundRequest": RefundRequest{}, "PaymentOrder": PaymentOrder{}, "OrderExplanation": OrderExplanation{}, "Refund": Refund{}, "ErrorDetail": ErrorDetail{},
		"WebhookEvent": WebhookEvent{},
	} {
		fields := map[string]bool{}
		kind := reflect.TypeOf(value)
		for index := range kind.NumField() {
			if tag := strings.Split(kind.Field(index).Tag.Get("json"), ",")[0]; tag != "-" {
				fields[tag] = true
			}
		}
		documented := map[string]bool{}
		for field := range document.Components.Schemas[name].Properties {
			documented[field] = true
		}
		if name == "WebhookEvent" {
			delete(documented, "data") // Order or Refund
		}
		equal(t, name, fields, documented)
	}
}

func TestTheFirstProgramOfTheReadmeRuns(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	noError(t, err)
	program := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(readme)
	if program == nil {
		t.Fatal("the README has no program")
	}
	here, err := os.Getwd()
	noError(t, err)
	folder := t.TempDir()
	module := fmt.Sprintf("module shop\n\ngo 1.22\n\nrequire gatehouse.example/gatehouse v1.0.0\n\nreplace gatehouse.example/gatehouse => %s\n", here)
	source := strings.ReplaceAll(string(program[1]), "0911223344", newPhone())
	if lines := strings.Count(source, "\n"); lines > 33 {
		t.Errorf("the first program has %d lines", lines)
	}
	noError(t, os.WriteFile(filepath.Join(folder, "go.mod"), []byte(module), 0o600))
	noError(t, os.WriteFile(filepath.Join(folder, "main.go"), []byte(source), 0o600))
	command := exec.Command("go", "run", ".")
	command.Dir = folder
	command.Env = append(os.Environ(), "API_KEY="+testSite(t).TestKey, "GATEHOUSE="+testSite(t).SandboxURL)
	output, err := command.CombinedOutput()
	if err != nil || string(output) != "COMPLETED 150.00\n" {
		t.Errorf("%v\n%s", err, output)
	}
}
