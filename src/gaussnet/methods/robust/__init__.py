"""The robust methods: least squares where data are clean, near the oracle where they are not.

`Cellwise` ("robust") begins with `SequentialTrim`, the *walk* below, and goes on where that doubts
something:

=====================================================================  =================
step                                                                   module
=====================================================================  =================
settings, and whether there is anything to doubt                       `cellwise`
the mixture from several starts; findings for every cell               `refinement`
where it starts from: walk, ranks, concentrated rows                   `starts`
levels of a category that were doubted as a whole, believed again      `level_starts`
the model of wrong cells, and its rounds                               `mixture`
the precision entry by entry, and least squares from products          `precision`
error or shape: what neighbours say of a column                         `shape`
standard errors over the believed cells                                `believed_cells`
what was learnt of right and wrong values, for any rows                `judge`
rows that are read page by page: a sample, then rounds                 `streams`
the test for contamination on these                                    `paged_contamination`
=====================================================================  =================

The walk: every parent is the child of another equation. A wrong cell that would be a bad leverage
point in the equations of its children is a mere vertical outlier in its own. So nodes are learnt
parents first, each on the rows whose parent cells are not suspicious (the *sound* rows). The steps:

=====================================================================  =================
step                                                                   module
=====================================================================  =================
settings; `SequentialTrim.learn` is the entry, `RobustSolution` the    `sequential_trim`
answer
all steps below, for all nodes in topological order                    `all_nodes`
1. least squares over all rows, and three checks: a node that passes   `screening`
   them, and whose parents are clean, is done
2. columns of few values, which are not trimmed                        `cells`
3. any other node, from its sound rows                                 `node`
   a. robust start, then reject rows and refit until they are stable   `trimming`
   b. **the cutoff** beyond which rows are rejected: `Tail.cutoff`     `cutoffs`
   c. judge the cells: fine, flagged, unverified, missing              `node`
   d. readmit rows with suspicious parents that tell of real events    `node`
4. confirm flagged cells that the children agree with                  `all_nodes`
5. parent or child: which of two cells that disagree is wrong          `attribution`
=====================================================================  =================

`regression` is least squares over changing sets of rows, which 1 and 3 rest on; `cells` also holds
the type of what is found, `SuspiciousCells`. Kernels in C do step 1 and most of step 3 for clean
and ordinary nodes; the modules here are their definition, and learn what they leave."""
