"""Methods and scales: how coefficients and variances are found, and how sure they are."""
