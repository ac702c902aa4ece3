# Fit measures, standardised solution, R2 and defined parameters of two path models by lavaan.
#
#   Rscript tables.R rows.csv model.txt folder repetitions
#
# fixed.x = FALSE: exogenous variables are random, as in a Gaussian network; covariances that the
# graph does not have are fixed at 0 in the model text.
suppressMessages(library(lavaan))
given <- commandArgs(trailingOnly = TRUE)
rows <- read.csv(given[1])
model <- paste(readLines(given[2]), collapse = "\n")
fitted <- sem(model, rows, fixed.x = FALSE, meanstructure = TRUE, auto.cov.y = FALSE,
              optim.method = "BFGS", control = list(reltol = 1e-16), optim.force.converged = TRUE)
measures <- c("npar", "ntotal", "chisq", "df", "pvalue", "baseline.chisq", "baseline.df",
              "baseline.pvalue", "cfi", "tli", "logl", "unrestricted.logl", "aic", "bic", "rmsea",
              "rmsea.ci.lower", "rmsea.ci.upper", "rmsea.pvalue", "srmr", "srmr_bentler_nomean")
found <- fitMeasures(fitted, measures)
estimates <- parameterEstimates(fitted)
standardised <- standardizedSolution(fitted)
drawn <- sem(model, rows, fixed.x = FALSE, meanstructure = TRUE, auto.cov.y = FALSE,
             se = "bootstrap", bootstrap = as.integer(given[4]), iseed = 20240701)
percentile <- parameterEstimates(drawn, boot.ci.type = "perc")
corrected <- parameterEstimates(drawn, boot.ci.type = "bca.simple")
kept <- c("lhs", "rhs", "label", "est", "est.std", "se", "ci.lower", "ci.upper", "pvalue")
write <- function(table, name) {
  table[] <- lapply(table, function(x) if (is.numeric(x)) sprintf("%.17g", x) else x)
  write.csv(table, file.path(given[3], paste0(name, ".csv")), row.names = FALSE, na = "")
}
lines <- function(table, op, name) {
  write(table[table$op == op, intersect(kept, names(table)), drop = FALSE], name)
}
write(data.frame(name = measures, value = as.numeric(found)), "measures")
lines(estimates, "~", "coefficients")
lines(estimates, "~1", "intercepts")
lines(estimates, "~~", "variances")
lines(estimates, ":=", "defined")
lines(standardised, "~", "standardised")
lines(percentile, ":=", "percentile")
lines(corrected, ":=", "corrected")
r2 <- inspect(fitted, "r2")
write(data.frame(name = names(r2), value = as.numeric(r2)), "r2")
holes <- rows  # cells missing at random, by a rule that needs no random numbers
for (k in seq_len(ncol(rows))[-1]) holes[seq(k, nrow(rows), by = 7 + k), k] <- NA
fiml <- sem(model, holes, fixed.x = FALSE, missing = "fiml", auto.cov.y = FALSE,
            optim.method = "BFGS", control = list(reltol = 1e-16), optim.force.converged = TRUE)
fiml.found <- fitMeasures(fiml, measures)
write(data.frame(name = measures, value = as.numeric(fiml.found)), "holes_measures")
lines(parameterEstimates(fiml), "~", "holes_coefficients")
versions <- c(as.character(getRversion()), as.character(packageVersion("lavaan")))
write(data.frame(name = c("R", "lavaan"), value = versions), "made_by")
