-- the next notification of an organization for a handler: the organizations take turns
CREATE INDEX handler_queue_by_organization ON handler_queue (handler, organization_id, due_at);
