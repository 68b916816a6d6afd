-- A copy of the organization's suspended_at, so that authentication reads only one table.
ALTER TABLE api_keys ADD COLUMN organization_suspended_at INTEGER;
UPDATE api_keys SET organization_suspended_at =
    (SELECT o.suspended_at FROM organizations o WHERE o.id = api_keys.organization_id);
