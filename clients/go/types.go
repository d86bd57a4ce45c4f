package gatehouse

// RegisterRequest is an order to register. Amounts are decimal text.
type RegisterRequest struct {
	OrderNumber   string `json:"order_number"`
	ReturnURL     string `json:"return_url"`
	WebhookURL    string `json:"webhook_url,omitempty"`
	Amount        string `json:"amount"`
	Currency      string `json:"currency"`
	Reason        string `json:"reason"`
	CustomerPhone string `json:"customer_phone"`
	BusinessName  string `json:"business_name,omitempty"`
}

// RegisteredOrder is what a registration gives: the URL of the checkout page.
type RegisteredOrder struct {
	CheckoutURL string `json:"checkout_url"`
}

// DirectPaymentRequest is a direct payment to start. PaymentOption names the wallet, such as walleta_ussd.
type DirectPaymentRequest struct {
	PaymentOption string `json:"-"`
	Amount        string `json:"amount"`
	Currency      string `json:"currency"`
	OrderNumber   string `json:"order_number"`
	Phone         string `json:"phone"`
}

// DirectPayment is what a direct payment gives. PaymentStatus is PENDING until the wallet has decided.
type DirectPayment struct {
	Message       string `json:"message"`
	PaymentStatus string `json:"payment_status"`
}

// RefundRequest is a refund to create. Without Amount, whatever is left of the order.
type RefundRequest struct {
	OrderNumber  string `json:"order_number"`
	RefundNumber string `json:"refund_number"`
	Amount       string `json:"amount,omitempty"`
	Reason       string `json:"reason"`
}

// PaymentOrder is an order. Status is PENDING, COMPLETED, FAILED or EXPIRED; all but PENDING are final.
type PaymentOrder struct {
	OrderID          string `json:"order_id"`
	OrderNumber      string `json:"order_number"`
	Status           string `json:"status"`
	Amount           string `json:"amount"`
	Deducted         string `json:"deducted"`
	Currency         string `json:"currency"`
	PaymentOption    string `json:"payment_option"`
	PaymentType      string `json:"payment_type"`
	CustomerPhone    string `json:"customer_phone"`
	Reason           string `json:"reason"`
	CreatedTimestamp string `json:"created_timestamp"`
	UpdatedTimestamp string `json:"updated_timestamp"`
}

// OrderExplanation is what an order waits for. Text is for people; programs read the other fields. New words may be added.
type OrderExplanation struct {
	OrderID     string `json:"order_id"`
	OrderNumber string `json:"order_number"`
	Status      string `json:"status"`
	// WaitingFor is such as payer_confirmation, or nothing.
	WaitingFor string `json:"waiting_for"`
	// HeldBy is such as payer, wallet or merchant.
	HeldBy string `json:"held_by"`
	// Wallet is the id of the wallet that the fact concerns; empty without one.
	Wallet string `json:"wallet"`
	// Reason is why the latest payment did not pay the order; empty otherwise.
	Reason string `json:"reason"`
	// Next is such as wallet_queried or order_expires.
	Next string `json:"next"`
	// NextAt is empty when the next step happens at once, and when a person decides its time.
	NextAt string `json:"next_at"`
	Since  string `json:"since"`
	Text   string `json:"text"`
}

// Refund is a refund. Status is PENDING, COMPLETED or FAILED; all but PENDING are final.
type Refund struct {
	RefundID         string `json:"refund_id"`
	RefundNumber     string `json:"refund_number"`
	OrderNumber      string `json:"order_number"`
	Status           string `json:"status"`
	Amount           string `json:"amount"`
	Currency         string `json:"currency"`
	Reason           string `json:"reason"`
	CreatedTimestamp string `json:"created_timestamp"`
	UpdatedTimestamp string `json:"updated_timestamp"`
}

// ErrorDetail is one problem with one field of a request.
type ErrorDetail struct {
	Field string `json:"field"`
	Issue string `json:"issue"`
}

// WebhookEvent is a webhook. One of Order and Refund is set. Later versions add types, which have neither: ignore unknown ones.
type WebhookEvent struct {
	// ID is the same in every repeat.
	ID string `json:"id"`
	// Type is such as order.completed, payment_link.created or refund.failed.
	Type           string        `json:"type"`
	CreatedAt      string        `json:"created_at"`
	Environment    string        `json:"environment"`
	Sequence       int64         `json:"sequence"`
	PreviousStatus string        `json:"previous_status"`
	Order          *PaymentOrder `json:"-"`
	Refund         *Refund       `json:"-"`
}
