with scored as (
    select
        case_hash,
        run_index,
        metric,
        passed,
        list_contains($governance::varchar[], metric) as is_governance
    from scores
    where scoring_id = $scoring_id
)

select
    judgement.metric,
    held.metric as governance,
    count(*) as both_scored,
    count(*) filter (where not judgement.passed) as erred,
    count(*) filter (where not judgement.passed and held.passed) as erred_but_held
from scored as judgement
inner join scored as held using (case_hash, run_index)
where
    not judgement.is_governance
    and held.is_governance
    and judgement.passed is not null
    and held.passed is not null
group by judgement.metric, held.metric
order by judgement.metric, held.metric
