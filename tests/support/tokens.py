"""Every form in which a message may hold a secret of the user, for what masks it."""

# What it is -> the secret, and a text around it that stays.
TOKENS = {
    "a token of the Hub": ("hf_AbCdEfGhIjKlMnOp", "token {} is invalid"),
    "a token that was cut": ("hf_AbCdEfGhIj", "cut: {}"),
    "a token of a login": ("hf_oauth_eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl-_", "refused: {}"),
    "a web token": ("eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl", "X-Xet-Access-Token: {}"),
    "a header": ("x.y-z", "Authorization: Bearer {}"),
    "a header in JSON": ("x.y-z", '{{"authorization": "Bearer {}", "a": 1}}'),
    "user and password": ("user:password", "https://{}@host/path"),
    "a token as the user": ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "https://{}@host/path.git"),
    "a signature": ("abc%2Fdef", "https://host/file?X-Amz-Signature={}&x=1"),
    "a key of a signature": ("ABC123", "https://host/file?x=1&Key-Pair-Id={}"),
    "a token in an address": ("abc-def", "https://host/file?token={}#part"),
    "a token in an address in JSON": ("abc-def", '{{"url": "https://host/file?access_token={}"}}'),
}
# Texts that look similar and are shown as they are.
HARMLESS = (
    "https://host:8080/a@b",
    "hf_hub_download, hf_xet, hf_oauth_client",
    '{"url":"http://host","mail":"me@host"}',
    "https://host/file?split=test&tokens=12&policy",
    "HF_ENDPOINT, the bearer of Basic sentences, eyJ",
)
