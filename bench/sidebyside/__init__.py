"""gatedrill, nginx and HAProxy side by side: what bench/run is made of."""
