"""The HTTP server: access control (`access`), the allowlist of addresses (`routes`), the check of every request (`gate`), and `http`, which
creates the server with page, API and health check behind the gate."""
