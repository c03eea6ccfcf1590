"""What is declared beside columns: change formats, expectations, maintenance."""
