"""What baselines and models score on a release: computing scores.json and putting it into the release."""
