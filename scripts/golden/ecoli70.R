# Golden numbers: Rscript ecoli70.R ROWS.csv MODELSTRING LAVAAN_MODEL OUT.json
#
# "lm": one regression a node with R's own lm().
#   coefficients   with "(Intercept)" first
#   sd             summary(lm)$sigma: the residual sum of squares over (rows - parents - 1), which is
#                  the sd of a bn.fit of bnlearn
#   loglik         logLik(lm): at the maximum, residual sum of squares over rows
#   loglik_sd      the same at sd above, which is what bnlearn's score(type = "loglik-g") adds up
# and sums over nodes, with AIC and BIC by R's stats; bic_g and aic_g follow bnlearn's definition,
# loglik_sd - k / 2 log(rows) and loglik_sd - k with k = parents + 2 for each node.
# "lavaan": the whole model at once by maximum likelihood.
# "bnlearn": its own numbers, only where it is installed.
arguments <- commandArgs(trailingOnly = TRUE)
data <- read.csv(arguments[1], check.names = FALSE)
brackets <- regmatches(arguments[2], gregexpr("\\[[^]]*\\]", arguments[2]))[[1]]
families <- strsplit(gsub("^\\[|\\]$", "", brackets), "|", fixed = TRUE)
rows <- nrow(data)

regress <- function(family) {
  node <- family[1]
  parents <- if (length(family) > 1) strsplit(family[2], ":", fixed = TRUE)[[1]] else character(0)
  quoted <- if (length(parents)) paste0("`", parents, "`") else "1"
  model <- lm(reformulate(quoted, response = paste0("`", node, "`")), data = data)
  sd <- summary(model)$sigma
  numbers <- coef(model)
  names(numbers) <- gsub("`", "", names(numbers))
  list(node = node, coefficients = as.list(numbers), sd = sd, loglik = as.numeric(logLik(model)),
       loglik_sd = sum(dnorm(residuals(model), 0, sd, log = TRUE)), aic = AIC(model),
       bic = BIC(model), parameters = length(parents) + 2)
}
nodes <- lapply(families, regress)
total <- function(what) sum(sapply(nodes, `[[`, what))
k <- total("parameters")
golden <- list(
  made_by = list(R = R.version.string, lm = paste("stats", packageVersion("stats"))),
  rows = rows,
  lm = list(nodes = nodes, parameters = k, loglik = total("loglik"), aic = total("aic"),
            bic = total("bic"), loglik_sd = total("loglik_sd"), aic_g = total("loglik_sd") - k,
            bic_g = total("loglik_sd") - k / 2 * log(rows)))

if (suppressMessages(require("lavaan", quietly = TRUE))) {
  fit <- lavaan::lavaan(arguments[3], data, fixed.x = FALSE)
  golden$made_by$lavaan <- paste("lavaan", packageVersion("lavaan"))
  found <- lavaan::parTable(fit)
  golden$lavaan <- list(loglik = as.numeric(logLik(fit)), aic = AIC(fit), bic = BIC(fit),
    table = data.frame(lhs = found$lhs, op = found$op, rhs = found$rhs, estimate = found$est))
}
if (requireNamespace("bnlearn", quietly = TRUE)) {
  dag <- bnlearn::model2network(arguments[2])
  fit <- bnlearn::bn.fit(dag, data)
  golden$made_by$bnlearn <- paste("bnlearn", packageVersion("bnlearn"))
  golden$bnlearn <- list(
    coefficients = lapply(fit, function(one) as.list(coef(one))),
    sd = lapply(fit, function(one) one$sd),
    loglik = bnlearn::score(dag, data, type = "loglik-g"),
    bic = bnlearn::score(dag, data, type = "bic-g"),
    aic = bnlearn::score(dag, data, type = "aic-g"))
}
writeLines(jsonlite::toJSON(golden, auto_unbox = TRUE, digits = I(17), pretty = TRUE), arguments[4])
