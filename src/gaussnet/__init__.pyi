"""The public names of gaussnet, and where each is defined: the one list of them."""

from . import networks as networks, simulate as simulate, sklearn as sklearn
from .data.paths import CsvPath as CsvPath
from .data.study import Weights as Weights
from .errors import (
    CycleError as CycleError,
    DataError as DataError,
    EstimationError as EstimationError,
    FileError as FileError,
    GaussnetError as GaussnetError,
    GraphError as GraphError,
    NetworkError as NetworkError,
    SettingError as SettingError,
)
from .fitting import Fit as Fit, fit as fit
from .fitting.change_attribution import (
    ChangeAttribution as ChangeAttribution,
    attribute_change as attribute_change,
)
from .fitting.comparison import ScoreTable as ScoreTable, compare as compare
from .fitting.drift import (
    DriftCheck as DriftCheck,
    DriftTest as DriftTest,
    check_drift as check_drift,
)
from .fitting.effects import Effect as Effect
from .fitting.equation_changes import UnitChange as UnitChange
from .fitting.graph_tests import GraphCheck as GraphCheck, MissingEdge as MissingEdge
from .fitting.group_fits import GroupFit as GroupFit, GroupPool as GroupPool
from .fitting.group_tests import EqualityTests as EqualityTests
from .fitting.measures import FitMeasures as FitMeasures
from .fitting.sensitivity import Benchmark as Benchmark, Sensitivity as Sensitivity
from .fitting.shifts import Shift as Shift, ShiftFit as ShiftFit
from .fitting.summaries import (
    Summary as Summary,
    merge as merge,
    solve as solve,
    summarize as summarize,
)
from .fitting.summary_files import load_summary as load_summary
from .fitting.tables import ResultTable as ResultTable
from .fitting.validation import CrossValidation as CrossValidation, cross_validate as cross_validate
from .fitting.verdicts import FitSummary as FitSummary
from .graph import Dag as Dag, Independence as Independence
from .graph.formats.files import read_dag as read_dag, write_dag as write_dag
from .methods.batches import (
    BatchAverage as BatchAverage,
    BatchMedian as BatchMedian,
)
from .methods.cauchy import (
    Cauchy as Cauchy,
    CauchyTree as CauchyTree,
)
from .methods.least_squares import LeastSquares as LeastSquares
from .methods.mad import Mad as Mad
from .methods.robust.cellwise import (
    Auto as Auto,
    Cellwise as Cellwise,
)
from .methods.robust.sequential_trim import SequentialTrim as SequentialTrim
from .methods.scales import (
    GaussianCore as GaussianCore,
    KlOptimal as KlOptimal,
    MeanSquare as MeanSquare,
)
from .model import Gaussian as Gaussian, GaussianNetwork as GaussianNetwork
from .model.distances import (
    TotalVariation as TotalVariation,
    bhattacharyya as bhattacharyya,
    hellinger as hellinger,
    kl_by_node as kl_by_node,
    kl_divergence as kl_divergence,
    total_variation as total_variation,
)
from .model.files import read_network as read_network, write_network as write_network
from .model.formats.pgmpy import from_pgmpy as from_pgmpy, to_pgmpy as to_pgmpy
from .model.inference.counterfactual import Counterfactual as Counterfactual
from .model.inference.effects import PathEffect as PathEffect
from .model.inference.predicted_rows import Prediction as Prediction
from .model.scores import robust_score as robust_score
from .named_rows import NamedRows as NamedRows
from .planning import Certificate as Certificate, Plan as Plan, certify as certify, plan as plan
from .report.explorer import write_explorer as write_explorer
from .report.page import write_report as write_report
from .reproduce import baselines as baselines

__version__: str
