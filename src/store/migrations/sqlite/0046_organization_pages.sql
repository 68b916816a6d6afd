-- The pages of an organization's events: the organization's name in their addresses, and the links that they show.

-- Its name in the addresses of its pages, in place of its id.
ALTER TABLE organizations ADD COLUMN page_name TEXT;
-- https URLs.
ALTER TABLE organizations ADD COLUMN website TEXT;
ALTER TABLE organizations ADD COLUMN imprint_url TEXT;
ALTER TABLE organizations ADD COLUMN privacy_url TEXT;
-- the uniqueness of a page name, the organization of a page
CREATE UNIQUE INDEX organizations_by_page_name ON organizations (page_name) WHERE page_name IS NOT NULL;
