-- Mails to customers and organizers, and what organizations set about them.

ALTER TABLE organizations ADD COLUMN mail_enabled BIGINT NOT NULL DEFAULT 1 CHECK (mail_enabled IN (0, 1));
ALTER TABLE organizations ADD COLUMN sender_name TEXT COLLATE "C";
ALTER TABLE organizations ADD COLUMN reply_to TEXT COLLATE "C";
ALTER TABLE organizations ADD COLUMN notify_address TEXT COLLATE "C";
ALTER TABLE organizations ADD COLUMN mail_intro TEXT COLLATE "C";
ALTER TABLE organizations ADD COLUMN mail_footer TEXT COLLATE "C";
ALTER TABLE organizations ADD COLUMN payment_reminder_minutes BIGINT;
-- How often these settings were changed, from 1.
ALTER TABLE organizations ADD COLUMN mail_revision BIGINT NOT NULL DEFAULT 1;

-- Mails. Their text is made when they are sent. While one waits, there is work of the kind 'mail' with its id.
CREATE TABLE mails (
    id BIGINT PRIMARY KEY,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    kind TEXT COLLATE "C" NOT NULL,
    order_id BIGINT REFERENCES orders (id),
    -- The tickets that it is about, as a JSON array of ids. NULL if it is about an order.
    ticket_ids TEXT COLLATE "C",
    recipient TEXT COLLATE "C" NOT NULL,
    -- What has caused it: the same cause makes no second one.
    dedup_key TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL DEFAULT 'WAITING'
        CHECK (state = 'WAITING' OR state = 'SENT' OR state = 'FAILED' OR state = 'DROPPED'),
    created_at BIGINT NOT NULL,
    sent_at BIGINT,
    -- What the relay last said, or why the mail was dropped.
    last_answer TEXT COLLATE "C",
    CHECK ((order_id IS NULL) = (ticket_ids IS NOT NULL)),
    CHECK ((state = 'SENT') = (sent_at IS NOT NULL))
);
-- the uniqueness of a cause
CREATE UNIQUE INDEX mails_by_cause ON mails (organization_id, dedup_key);
-- the mails of an order
CREATE INDEX mails_by_order ON mails (order_id, id) WHERE order_id IS NOT NULL;
-- the list of an organization
CREATE INDEX mails_by_organization ON mails (organization_id, id);
-- how many an organization has sent in the last hour, and how many of them to an address
CREATE INDEX mails_sent ON mails (organization_id, sent_at) WHERE sent_at IS NOT NULL;
CREATE INDEX mails_sent_to ON mails (organization_id, recipient, sent_at) WHERE sent_at IS NOT NULL;
