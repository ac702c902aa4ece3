# Golden numbers for correlated roots: estimates, standardised solution, R2 and measures of fit.
# Usage: Rscript scripts/golden/correlated.R tests/golden/correlated.csv tests/golden/correlated.json
#
# "default" is sem() as most people call it: fixed.x = TRUE, all causes covary. The others have
# fixed.x = FALSE, and a covariance of 0 where the model text of the test has none.
suppressMessages(library(lavaan))
paths <- commandArgs(trailingOnly = TRUE)
rows <- read.csv(paths[1])
model <- "m ~ a + b\ny ~ m + c"
number <- function(value) ifelse(is.finite(value), sprintf("%.17g", value), "null")
measures <- c("npar", "ntotal", "chisq", "df", "pvalue", "baseline.chisq", "baseline.df", "cfi", "tli",
              "logl", "aic", "bic", "rmsea", "srmr")
table <- function(lines) {
  se <- if (is.null(lines$se)) NA else lines$se
  value <- if (is.null(lines$est)) lines$est.std else lines$est
  cells <- sprintf('    {"lhs": "%s", "op": "%s", "rhs": "%s", "est": %s, "se": %s}', lines$lhs, lines$op,
                   lines$rhs, number(value), number(se))
  paste0("[\n", paste(cells, collapse = ",\n"), "\n  ]")
}
named <- function(values) {
  paste0("{", paste(sprintf('"%s": %s', names(values), number(as.numeric(values))), collapse = ", "), "}")
}
entry <- function(name, more, fixed) {
  found <- sem(paste(c(model, more), collapse = "\n"), rows, fixed.x = fixed, meanstructure = TRUE,
               optim.method = "BFGS", optim.parscale = "standardized", optim.force.converged = TRUE,
               control = list(reltol = 1e-16, maxit = 10000))
  sprintf('  "%s": {\n  "measures": %s,\n  "r2": %s,\n  "estimates": %s,\n  "standardised": %s}', name,
          named(fitMeasures(found, measures)), named(inspect(found, "r2")),
          table(parameterEstimates(found)), table(standardizedSolution(found)))
}
parts <- c(entry("default", c(), TRUE), entry("all", c(), FALSE),
           entry("one", c("a ~~ b", "a ~~ 0*c", "b ~~ 0*c"), FALSE),
           entry("chain", c("a ~~ b", "b ~~ c", "a ~~ 0*c"), FALSE))
made <- sprintf('  "lavaan": "%s"', packageVersion("lavaan"))
writeLines(c("{", paste(c(made, parts), collapse = ",\n"), "}"), paths[2])
