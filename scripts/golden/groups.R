# Golden numbers for fits by group: lavaan with and without equal regressions.
# Usage: Rscript scripts/golden/groups.R tests/golden/groups.csv tests/golden/groups.json
library(lavaan)
paths <- commandArgs(trailingOnly = TRUE)
rows <- read.csv(paths[1])
model <- "b ~ a\nc ~ a + b\nd ~ b + c"
fit <- function(...) sem(model, rows, group = "site", meanstructure = TRUE, likelihood = "normal",
                         optim.dx.tol = 1e-5, ...)
free <- fit()
lines <- c()
number <- function(value) formatC(value, digits = 17, format = "g")
entry <- function(name, equal) {
  found <- if (length(equal)) fit(group.equal = equal) else free
  estimates <- parameterEstimates(found)
  chosen <- estimates[estimates$op %in% c("~", "~1") & estimates$lhs %in% c("b", "c", "d") |
                      (estimates$op == "~~" & estimates$lhs == estimates$rhs & estimates$lhs %in% c("b", "c", "d")), ]
  cells <- sprintf('    {"lhs": "%s", "op": "%s", "rhs": "%s", "group": %d, "est": %s, "se": %s}',
                   chosen$lhs, chosen$op, chosen$rhs, chosen$group, number(chosen$est), number(chosen$se))
  stopifnot(lavInspect(found, "converged"))
  statistic <- 2 * as.numeric(logLik(free) - logLik(found))
  df <- fitMeasures(found, "df") - fitMeasures(free, "df")
  sprintf('  "%s": {"statistic": %s, "df": %d, "parameters": [\n%s\n  ]}', name, number(statistic),
          as.integer(df), paste(cells, collapse = ",\n"))
}
parts <- c(entry("free", character(0)), entry("regressions", "regressions"),
           entry("regressions, intercepts", c("regressions", "intercepts")),
           entry("regressions, residuals", c("regressions", "residuals")))
labels <- sprintf('  "groups": [%s]', paste(sprintf('"%s"', lavInspect(free, "group.label")), collapse = ", "))
writeLines(c("{", paste(c(sprintf('  "lavaan": "%s"', packageVersion("lavaan")), labels, parts), collapse = ",\n"), "}"), paths[2])
