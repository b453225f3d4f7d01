-- A total over runs of which one is unknown is unknown.
select
    case when count(*) = count(input_tokens) then sum(input_tokens)::bigint end as input_tokens,
    case when count(*) = count(output_tokens) then sum(output_tokens)::bigint end as output_tokens,
    count(*) filter (where input_tokens is null or output_tokens is null) as runs_without_usage
from run_outputs
where evaluation_id = $evaluation_id
