-- The scope of recording payments was part of orders:write before. Scopes are stored in the order of their declaration.
UPDATE api_keys SET scopes = replace(scopes, 'orders:write', 'orders:write payments:write')
WHERE scopes LIKE '%orders:write%';
