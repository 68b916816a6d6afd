-- The embedding program's own name for the organization.
ALTER TABLE organizations ADD COLUMN reference TEXT;
-- Since when the organization is suspended; NULL if it is not.
ALTER TABLE organizations ADD COLUMN suspended_at INTEGER;
-- the uniqueness of a reference, find_organization
CREATE UNIQUE INDEX organizations_by_reference ON organizations (reference) WHERE reference IS NOT NULL;
-- run_maintenance: the suspended organizations, among many that are not
CREATE INDEX organizations_suspended ON organizations (suspended_at) WHERE suspended_at IS NOT NULL;
