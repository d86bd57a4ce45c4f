\set number random(1, 9000000000000000)
begin;
insert into core.orders (
  merchant_id, environment, id, order_number, status, payment_type, amount_text, amount_minor_units,
  deducted_minor_units, currency, customer_phone, customer_phone_e164, reason, business_name, return_url, webhook_url,
  last_event_sequence, attempt_count, latest_attempt_id, created_at, updated_at, expires_at, sweep_at
) values (
  :merchant::uuid, 'SANDBOX', uuidv7(), 'P-' || :number::bigint, 'PENDING', 'API', '100.50', 10050,
  0, 'ETB', '0911223344', '+251911223344', 'Two pairs of shoes', '', 'https://shop.example/return',
  'https://shop.example/hook', 1, 0, null, now(), now(), now() + interval '30 minutes', now() + interval '30 minutes'
) returning id \gset
insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload)
values (:merchant::uuid, 'SANDBOX', :id::uuid, 1, uuidv7(), 'CREATED', now(), :payload::bytea);
commit;
