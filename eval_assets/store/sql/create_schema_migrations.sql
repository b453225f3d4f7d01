create table if not exists schema_migrations (
    version integer,
    name varchar,
    applied_at timestamptz
)
