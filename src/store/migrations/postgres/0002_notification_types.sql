-- The types of notifications are one list in the program, which reads no other: the tables do not repeat it.
ALTER TABLE webhook_outbox DROP CONSTRAINT webhook_outbox_type_check;
ALTER TABLE webhook_deliveries DROP CONSTRAINT webhook_deliveries_type_check;
ALTER TABLE webhook_fan_outs DROP CONSTRAINT webhook_fan_outs_type_check;
