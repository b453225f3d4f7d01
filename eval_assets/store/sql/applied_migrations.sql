select
    version,
    name
from schema_migrations
order by version
