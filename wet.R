library(bnlearn)
dag <- empty.graph(c(
  "rain",
  "sprinkler",
  "wet"
))
arcs(dag) <- matrix(c(
  "rain", "wet",
  "sprinkler", "wet"
), ncol = 2, byrow = TRUE, dimnames = list(NULL, c("from", "to")))
network <- custom.fit(dag, dist = list(
  "rain" = list(coef = c("(Intercept)" = 0.068808005723137), sd = 0.9499548182300697),
  "sprinkler" = list(coef = c("(Intercept)" = 0.05007505373152643), sd = 0.9131676477581484),
  "wet" = list(coef = c("(Intercept)" = -0.24508659349918557, "rain" = 1.1823614577386137, "sprinkler" = 1.0527329877767926), sd = 0.9450402748134038)
))
