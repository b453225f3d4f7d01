insert into case_sets by name
select
    $suite as suite,
    $case_set_hash as case_set_hash,
    $content_hash as content_hash,
    $case_count as case_count,
    now() as registered_at
