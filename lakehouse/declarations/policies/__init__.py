"""What is declared beside columns: expectations, evolution, maintenance."""
