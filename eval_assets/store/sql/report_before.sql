-- Another report of the same evaluation is the same measurement again, not an earlier one; and a target described
-- otherwise is another target. A replay is no measurement at all.
with this as (
    select
        suite,
        target,
        evaluation_id,
        target_fingerprint,
        created_at
    from reports
    where report_id = $report_id
    order by created_at
    limit 1
)

select
    reports.report_id,
    reports.suite,
    reports.target,
    reports.evaluation_id,
    reports.target_fingerprint,
    reports.report
from reports
inner join this
    on reports.suite = this.suite
    and reports.target = this.target
    and reports.target_fingerprint = this.target_fingerprint
where
    reports.evaluation_id <> this.evaluation_id
    and reports.created_at < this.created_at
    and reports.evaluation_id not in (select evaluation_id from evaluations where replayed_from is not null)
order by reports.created_at desc, reports.report_id desc
limit 1
