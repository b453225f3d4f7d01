-- Only inside the transaction that loaded them: the first line of a run counts, as it does for whoever resumes a journal.
delete from run_outputs
where
    evaluation_id = $evaluation_id
    and rowid not in (
        select min(rowid)
        from run_outputs
        where evaluation_id = $evaluation_id
        group by case_hash, run_index
    )
