\set number random(1, :seeded)
select * from core.orders
where merchant_id = :merchant::uuid and environment = 'SANDBOX' and order_number = 'S-' || :number::bigint;
