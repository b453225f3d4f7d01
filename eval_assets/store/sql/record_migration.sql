insert into schema_migrations by name
select
    $version as version,
    $name as name,
    now() as applied_at
