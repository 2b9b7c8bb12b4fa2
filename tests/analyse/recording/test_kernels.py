"""Which kernel of one recording is compared with which of the other."""

import time

import pytest

from profiler.analyse.recording.kernel_choice import (
    KernelPairs,
    choose_kernel,
    match_kernels,
    matching_kernels,
    pair_kernels,
)
from profiler.analyse.recording.kernel_names import (
    base_name,
    called_name,
    choice_of,
    pattern_of,
    plain_name,
    short_name,
    short_names,
    words_of,
)
from profiler.errors import KernelAmbiguous, KernelNotFound


@pytest.fixture
def run_of(make_run):
    """A run of the named kernels, one launch each."""
    return lambda *names, name="made": make_run(*({"kernel": kernel} for kernel in names), name=name)


def match(before, after, pattern=None, every=False):
    return match_kernels(before, after, pattern, every=every).pairs


def test_a_single_kernel_a_side_is_a_pair_whatever_the_names(run_of):
    assert match(run_of("naive"), run_of("tiled")) == [("naive", "tiled")]


def test_with_several_kernels_the_one_of_the_same_name_is_compared(run_of):
    assert match(run_of("init", "gemm"), run_of("gemm", "check")) == [("gemm", "gemm")]


def test_a_choice_that_is_not_clear_lists_every_kernel_with_its_launches(run_of):
    with pytest.raises(KernelAmbiguous) as error:
        match(run_of("a", "b", "a", name="first"), run_of("a", "b", name="second"))
    assert error.value.exit_code == 32
    assert [line.split() for line in error.value.details] == [
        ["first"], ["2", "x", "a"], ["1", "x", "b"], ["second"], ["1", "x", "a"], ["1", "x", "b"],
    ]  # fmt: skip
    assert "-k PATTERN" in error.value.remedy
    assert "--all" in error.value.remedy, "both have two of them"


def test_kernels_without_a_common_name_are_not_guessed_at(run_of):
    with pytest.raises(KernelAmbiguous):
        match(run_of("a", "b"), run_of("c", "d"))


def test_a_pattern_chooses_by_a_part_of_the_name(run_of):
    before, after = run_of("void gemm<128>(float*)", "init()"), run_of("void gemm<64>(float*)", "init()")
    assert match(before, after, "gemm") == [("void gemm<128>(float*)", "void gemm<64>(float*)")]
    assert match(before, after, r"^init\(\)$") == [("init()", "init()")]


def test_the_whole_name_of_a_function_means_no_longer_one_that_contains_it(run_of):
    run = run_of("void ns::tile<4>(float *)", "tile_padded(float *)")
    assert choose_kernel(run, "tile") == "void ns::tile<4>(float *)"
    with pytest.raises(KernelAmbiguous):
        choose_kernel(run, "til")


def test_a_pattern_for_the_end_of_a_name_is_held_against_the_name_without_its_arguments(run_of):
    run = run_of("void ns::scale<(int)4>(float *, int)", "ns::scale_rows(float *)", "ns::add(int)")
    for pattern, found in (
        ("scale$", 1),
        ("^scale", 2),
        ("scale<4>$", 1),
        ("rows$", 1),
        ("float", 2),
        (r"\)$", 3),
    ):
        assert len(matching_kernels(run, pattern)) == found, pattern


def test_a_name_as_an_answer_prints_it_chooses_its_kernel(run_of):
    names = ["void gemm<(int)8, float *>(float *, int)", "void gemm<(int)8, float *, 1>(float *, int)"]
    run = run_of(*names, "init()")
    assert choose_kernel(run, plain_name(names[0])) == names[0]
    assert choose_kernel(run, names[0]) == names[0], "whatever its brackets and stars would match"
    assert match(run, run, r"^gemm<8, float \*>") == [(names[0], names[0])]


def test_a_pattern_that_leaves_several_lists_only_those(run_of):
    run = run_of("gemm_a", "gemm_b", "init")
    with pytest.raises(KernelAmbiguous) as error:
        match(run, run, "gemm")
    assert "init" not in str(error.value)


def test_a_pattern_that_matches_nothing_names_the_side_and_what_it_holds(run_of):
    with pytest.raises(KernelNotFound) as error:
        match(run_of("gemm", name="first"), run_of("init", name="second"), "gemm")
    assert error.value.exit_code == 33
    assert error.value.message == "second: no kernel name matches 'gemm'"
    assert "1 x init" in str(error.value)


def test_a_pattern_that_is_no_regular_expression_is_an_error_and_no_traceback(run_of):
    with pytest.raises(KernelNotFound, match="not a regular expression"):
        match(run_of("gemm"), run_of("gemm"), "gemm(")


def test_every_common_kernel_is_paired_in_the_order_of_the_first_recording(run_of):
    before, after = run_of("c", "a", "only here", "b"), run_of("a", "b", "c", "only there")
    assert match(before, after, every=True) == [("c", "c"), ("a", "a"), ("b", "b")]
    assert match(before, after, "[ab]", every=True) == [("a", "a"), ("b", "b")]


def test_without_a_common_name_the_only_kernels_of_two_sides_are_a_pair_and_several_are_refused(run_of):
    assert match(run_of("naive"), run_of("tiled"), every=True) == [("naive", "tiled")]
    with pytest.raises(KernelAmbiguous):
        match(run_of("a", "b"), run_of("c", "d"), every=True)


def test_a_kernel_with_other_template_arguments_is_the_counterpart_of_one_that_has_none(run_of):
    before = run_of("cutlass()", "void gemm<128, 8>(float *)", "void copy<1>()", "void copy<2>()")
    after = run_of("void gemm<128, 8, true>(float *, int)", "cutlass()", "void copy<3>()")
    gemm = ("void gemm<128, 8>(float *)", "void gemm<128, 8, true>(float *, int)")
    assert match(before, after, every=True) == [("cutlass()", "cutlass()"), gemm]
    with pytest.raises(KernelAmbiguous):
        match(before, after)
    found = pair_kernels(before, after)
    assert (found.gone, found.new) == (["void copy<1>()", "void copy<2>()"], ["void copy<3>()"])


def test_no_common_kernel_at_all_lists_both_sides(run_of):
    before, after = run_of("a", "c"), run_of("b", "d")
    with pytest.raises(KernelAmbiguous) as error:
        match(before, after, every=True)
    assert "1 x a" in str(error.value)
    assert "1 x b" in str(error.value)
    assert pair_kernels(before, after) == KernelPairs([], ["a", "c"], ["b", "d"])


def test_the_only_kernel_a_side_that_a_pattern_leaves_is_neither_gone_nor_new(run_of):
    found = pair_kernels(run_of("tile_8", "init"), run_of("tile_16", "init"), "tile")
    assert found == KernelPairs([("tile_8", "tile_16")], [], [])


def test_one_side_alone_follows_the_same_rules(run_of):
    assert choose_kernel(run_of("gemm", "init"), "gemm") == "gemm"
    with pytest.raises(KernelAmbiguous, match="2 kernels"):
        choose_kernel(run_of("gemm", "init"), None)


def test_very_many_and_very_long_names_stay_readable(run_of):
    with pytest.raises(KernelAmbiguous) as error:
        choose_kernel(run_of(*(f"kernel_{number}<{'Pair<' * 800}" for number in range(30))), None)
    assert len(error.value.details) == 21
    assert error.value.details[-1].strip() == "and 10 more"
    assert max(map(len, error.value.details)) < 250


def test_a_pattern_that_would_take_pythons_engine_forever_is_answered_at_once(run_of):
    run = run_of("void " + "gemm_kernel<float, 128, 128, 8>" * 10)
    started = time.process_time()
    with pytest.raises(KernelNotFound, match="no kernel name matches"):
        match(run, run, "(.*)*(.*)*(.*)*(.*)*(.*)*Q")
    assert time.process_time() - started < 5


CUTLASS = "void cutlass::Kernel<cutlass::gemm::Gemm<cutlass::Shape<(int){}, (int)64>, {}cutlass::Tail<(int){}>>>(T1)"


def test_a_kernel_that_is_called_just_kernel_is_named_by_its_template():
    assert short_name(CUTLASS.format(128, "", 1)) == "Kernel<Gemm<Shape<128, 64>, Tail<1>>>"
    long = CUTLASS.format(128, "cutlass::layout::RowMajor, " * 9, 1)
    assert called_name(long).startswith("Kernel<Gemm<Shape<128, 64>, RowMajor")
    assert len(called_name(long)) <= 60
    assert called_name(long.replace("Kernel", "gemm")) == "gemm"
    assert called_name("kernel2(int)") == "kernel2"


def test_two_long_names_are_shortened_to_where_their_templates_differ():
    between = "cutlass::layout::RowMajor, " * 9
    one, other = short_names(CUTLASS.format(128, between, 1), CUTLASS.format(128, between, 2))
    assert one.startswith("Kernel<…")
    assert one.endswith("Tail<1>>>")
    assert other == one.replace("Tail<1>", "Tail<2>")
    one, other = short_names(CUTLASS.format(128, between, 1), CUTLASS.format(64, between, 1))
    assert ("Shape<128" in one, "Shape<64" in other) == (True, True)
    assert short_names("void f<(int)1>(int)", "void f<(int)2>(int)") == ("f<1>", "f<2>")


def test_a_long_function_name_leaves_room_for_where_two_templates_differ():
    """The names that PyTorch's own kernels have, which differ behind many characters without a space."""
    name = "void at::native::distribution_elementwise_grid_stride_kernel<float, (int)4, void {}>(T1)"
    uniform, normal = (
        name.format(f"at::native::templates::cuda::{one}_and_transform<float>")
        for one in ("uniform", "normal")
    )
    one, other = short_names(uniform, normal)
    assert one.startswith("distribution_elementwise_grid_stride_kernel<…uniform_and")
    assert other.startswith("distribution_elementwise_grid_stride_kernel<…normal_and")
    one, other = short_names(name.format("a" * 90 + "1"), name.format("a" * 90 + "2"))
    assert one != other


@pytest.mark.parametrize("unnamed", ["(anonymous namespace)", "<unnamed>"])
def test_a_namespace_without_a_name_is_no_part_of_a_function_s_name(unnamed):
    kernel = f"void at::native::{unnamed}::fill_kernel<float, at::Functor<(int)4>>(long, T3)"
    assert base_name(kernel) == "fill_kernel"
    assert called_name(f"void ns::{unnamed}::kernel<ns::{unnamed}::One>(int)") == "kernel<One>"


LIBRARY = [
    "void at::native::elementwise_kernel<4, at::native::AddFunctor<float>, (int)2>(int)",
    "void at::native::elementwise_kernel<4, at::native::MulFunctor<float>, (int)2>(int)",
    "void at::native::elementwise_kernel<4, at::native::MulFunctor<float>, (int)8>(int)",
    "mine(float *)",
]


def test_each_kernel_of_a_library_has_a_pattern_that_chooses_it_alone(run_of):
    run = run_of(*LIBRARY)
    patterns = [pattern_of(kernel, LIBRARY) for kernel in LIBRARY]
    assert [[one.name for one in matching_kernels(run, pattern)] for pattern in patterns] == [
        [one] for one in LIBRARY
    ]
    assert (patterns[0], patterns[-1]) == ("AddFunctor", "mine"), "as short as can be"
    assert choice_of(LIBRARY[2], LIBRARY) == "-k 8"
    assert choice_of("k<2, f(int)>", ["k<2, f(int)>", "k<3, f(int)>"]) == "-k 'k<2, f>'"


def test_a_kernel_whose_name_another_contains_is_chosen_by_its_whole_name(run_of):
    kernels = [f"k<{'a' * 80}>(int)", f"ns::k<{'a' * 80}>(int)"]
    run = run_of(*kernels)
    for kernel in kernels:
        assert [one.name for one in matching_kernels(run, pattern_of(kernel, kernels))] == [kernel]


def test_the_words_of_a_name_are_those_that_may_say_what_is_computed():
    assert words_of("transposeNaive_kernel") == {"transpose", "naive"}
    assert words_of("k5") == words_of("k6") == {"k"}
    assert words_of("d_boxfilter_y_global") == {"boxfilter"}, (
        "where its data lie says nothing of what it computes"
    )
    assert words_of("bitonic_sort_shared_fused").isdisjoint(words_of("SharedMemHistKernel"))
    assert words_of("is_u32_f32").isdisjoint(words_of("sum_f32")), "types"
    assert words_of("f3") == words_of("f12") == words_of("f320") == {"f"}, "versions"
    assert words_of("kernel_12.ncu-rep") == set()
    assert words_of("f7") == words_of("f8") == words_of("f16_kernel") == {"f"}, (
        "a version, though a type is called so"
    )
    assert words_of("warp1") == words_of("warp2") == {"warp"}, "which is all that it says"
    assert words_of("smem_kernel") == {"smem"}
    assert words_of("kernel_shared_memory") == {"shared", "memory"}
    assert words_of("local_block_kernel") == {"local", "block"}
    assert words_of("reduce_warp") == {"reduce"}
    assert words_of("triton_add").isdisjoint(words_of("triton_matmul")), "which is how both were written"
