"""The paper's own words and numbers against the runs: published values, claims and what it does not say."""
