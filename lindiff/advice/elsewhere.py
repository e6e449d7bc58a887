"""What names of JAX, PyTorch, autograd, CasADi and statsmodels are called here."""

from __future__ import annotations

import sys

__all__ = ["hint", "is_import"]

PROGRAM = (
    "plain NumPy code runs as it is, there is nothing to compile: leave it out, or take ld.program(f), which "
    "repeats f without Python"
)
RULE = "write a rule: @ld.rule on a function that returns its value and its pullback (docs/custom_rules.md)"
LOOPS = "write Python's own for, while and if; ld.checkpoint saves the memory of long loops"
CONSTANT = "ld.stop_gradient(x), or ld.value(x) for the plain array"
NUMPY = "import numpy as np, or import lindiff.numpy as np for code that fills arrays"
TREES = "ld.tree_map(f, tree) for the leaves, ld.ravel(tree) for one vector and the way back"
PRODUCT = "ld.hvp(f, (x,), (v,))"
ELEMENTS = "ld.grad(lambda x: np.sum(f(x))), or ld.jvp(f, (x,), (np.ones_like(x),))[1]"
PLAIN = "outside of transforms nothing is recorded: leave it out"

HINTS = {
    # JAX
    "jacrev": 'ld.jacobian(f, mode="rev")',
    "jacfwd": 'ld.jacobian(f, mode="fwd")',
    "jit": PROGRAM,
    "pmap": "ld.vmap(f), which uses all cores",
    "custom_vjp": RULE,
    "custom_jvp": RULE,
    "custom_gradient": RULE,
    "defvjp": RULE,
    "defjvp": RULE,
    "custom_root": "ld.implicit(solver, residual)",
    "custom_linear_solve": "ld.implicit(solver, residual)",
    "remat": "ld.checkpoint(f)",
    "pure_callback": RULE,
    "lax": LOOPS,
    "scan": LOOPS,
    "fori_loop": LOOPS,
    "while_loop": LOOPS,
    "cond": LOOPS,
    "switch": LOOPS,
    "tree": TREES,
    "tree_util": TREES,
    "tree_leaves": TREES,
    "tree_flatten": TREES,
    "tree_unflatten": TREES,
    "tree_multimap": TREES,
    "flatten_util": TREES,
    "ravel_pytree": TREES,
    "make_jaxpr": "ld.explain(f)(x) lists the operations, ld.draw(f)(x) shows them",
    "eval_shape": "call the function: np.shape(f(x))",
    "nn": "write the layers in NumPy, their parameters in a dict or a dataclass",
    "random": "np.random, whose numbers are constants",
    "check_grads": "ld.testing.check_grads(f, (x,))",
    "debug_nans": "with ld.nan_check(): ...",
    "stop_grad": CONSTANT,
    "np": NUMPY,
    "jnp": NUMPY,
    # PyTorch
    "grad_and_value": "ld.value_and_grad(f), which returns (value, gradient)",
    "func": "the transforms are here: ld.grad, ld.vjp, ld.jvp, ld.jacobian, ld.hessian",
    "functional_call": "give the parameters as an argument: a dict or a dataclass",
    "autograd": "the transforms are here: ld.grad, ld.vjp, ld.jvp, ld.jacobian, ld.hessian",
    "Function": RULE,
    "Tensor": "ld.Variable(array) for the tape by hand; ld.grad(f) takes plain arrays",
    "no_grad": PLAIN,
    "enable_grad": PLAIN,
    "inference_mode": PLAIN,
    "detach": CONSTANT,
    "set_detect_anomaly": "with ld.nan_check(): ...",
    "gradcheck": "ld.testing.check_grads(f, (x,))",
    "backward": "y.backward() of a Variable, or ld.grad(f)(x)",
    "compile": PROGRAM,
    "vhp": PRODUCT,
    # autograd
    "elementwise_grad": ELEMENTS,
    "egrad": ELEMENTS,
    "deriv": ELEMENTS,
    "derivative": ELEMENTS,
    "holomorphic_grad": "ld.grad(f, holomorphic=True)",
    "make_vjp": "y, pullback = ld.vjp(f, x)",
    "make_jvp": "y, y_dot = ld.jvp(f, (x,), (x_dot,))",
    "make_hvp": PRODUCT,
    "make_ggnvp": "ld.ggnvp(f, loss, (x,), (v,))",
    "hessian_vector_product": PRODUCT,
    "hessian_tensor_product": "the same as ld.hvp(f, (x,), (v,))",
    "tensor_jacobian_product": "y, pullback = ld.vjp(f, x); pullback(v)[0]",
    "vector_jacobian_product": "y, pullback = ld.vjp(f, x); pullback(v)[0]",
    "multigrad_dict": "ld.grad(f, argnums=(...)), by number or by name",
    "grad_named": "ld.grad(f, argnums='name')",
    "value_and_multigrad": "ld.value_and_grad(f, argnums=(0, 1))",
    "primitive": RULE,
    "extend": RULE,
    "flatten": TREES,
    # CasADi, Theano, statsmodels
    "gradient": "ld.grad(f)",
    "jtimes": "ld.jvp(f, (x,), (v,))[1], or ld.vjp(f, x)[1](v)[0] for the transpose",
    "Rop": "ld.jvp(f, (x,), (v,))[1]",
    "Lop": "ld.vjp(f, x)[1](v)[0]",
    "approx_fprime": "ld.grad(f)(x), or ld.jacobian(f)(x) for an array",
    "approx_hess": "ld.hessian(f)(x)",
    "minimize": "lindiff.scipy.optimize.minimize(f, x0)",
    "tsa": "ld.statespace",
}


def hint(name: str) -> str:
    """What to write instead of a name of another library; nothing for names that none of them has."""
    return f": {HINTS[name]}" if name in HINTS else ""


def is_import() -> bool:
    """Whether a module is asked for a name by ``from module import name``.

    Python asks whether it has the name before it fails with a message of its own.
    """
    return sys._getframe(2).f_code.co_name == "_handle_fromlist"
