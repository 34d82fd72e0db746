"""The only statements with a user's text in them."""

# In a subquery, json_each has no columns that the text could name by mistake; candidates come from
# a function, as all parameters are the user's.
MATCHING = """
    SELECT doc_id FROM documents
    WHERE doc_id IN (SELECT value FROM json_each(lshdb_candidates())) AND (
{expression}
)"""
ALONE = """
    EXPLAIN SELECT CASE WHEN
{expression}
    THEN 1 END FROM documents"""
