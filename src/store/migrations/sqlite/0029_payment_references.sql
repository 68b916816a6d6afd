-- the order of a notice about a refund or a dispute, which names the payment only
CREATE INDEX checkouts_by_payment ON checkouts (payment_reference) WHERE payment_reference IS NOT NULL;
CREATE INDEX refunds_by_payment ON refunds (payment_reference) WHERE payment_reference IS NOT NULL;
