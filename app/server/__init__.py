"""The HTTP server: who may ask (`access`), for which addresses (`routes`), how every request passes that check (`gate`), and `http`, which
opens the server with page, API and health check behind it."""
