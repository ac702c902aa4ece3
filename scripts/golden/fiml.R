# Golden numbers of maximum likelihood with missing cells: Rscript fiml.R ROWS.csv MODEL OUT.csv
#
# lavaan with missing = "fiml" and information = "observed": estimates and standard errors of all
# parameters; the line "loglik" holds the log-likelihood, "seconds" what the fit with standard errors
# took, and "version" lavaan's own.
suppressMessages(library(lavaan))
arguments <- commandArgs(trailingOnly = TRUE)
data <- read.csv(arguments[1], check.names = FALSE)
seconds <- system.time(
  fit <- lavaan(arguments[2], data, fixed.x = FALSE, meanstructure = TRUE, missing = "fiml",
                information = "observed"))
stopifnot(lavInspect(fit, "converged"))
found <- parTable(fit)
version <- as.character(packageVersion("lavaan"))
more <- data.frame(lhs = c("loglik", "seconds", "version"), op = "=", rhs = c("", "", version),
                   estimate = c(as.numeric(logLik(fit)), seconds[["user.self"]], NA), error = NA)
table <- rbind(data.frame(lhs = found$lhs, op = found$op, rhs = found$rhs, estimate = found$est,
                          error = found$se), more)
table$estimate <- format(table$estimate, digits = 15)
table$error <- format(table$error, digits = 15)
write.csv(table, arguments[3], row.names = FALSE, quote = FALSE)
