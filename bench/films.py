"""Film strips of the ways in: one picture after each gesture, at 1280x720, side by side in one PNG for each strip.

*Start here* with its drops, a kernel of one's own, an ONNX file with an open size, and posts that are pasted as they are. The strips are
written to artefacts/films, which is not committed; they are for looking at.

Run: `make film`, or `PYTHONPATH=tests python bench/films.py [--posts FOLDER] [NAME …]`. The posts are the .txt files of FOLDER, else those
of the tests. Needs playwright, Pillow and a Chromium ($TILEWRIGHT_CHROMIUM, or on the PATH), and onnx for its strip.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from drop import FLAGS, chromium, server
from PIL import Image
from playwright.sync_api import Error, Page, expect, sync_playwright
from support.browser.page import choose, drag, row
from support.browser.screens import CONVOLUTION
from support.pasted.posts import EARLY_MATMUL_POST, RELAX_SCHEDULED_POST, SEPARATED_POST

import tilewright

FOLDER = Path(__file__).parents[1] / "artefacts" / "films"
SIZE = (1280, 720)
COLUMNS = 3
SLOW = 90_000

Film = Callable[[Page], Iterator[str]]
"""Drives a page that shows the start screen; a picture is taken at each yield, which says what was done."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--posts", type=Path, help="a folder with posts as .txt files")
    arguments = parser.parse_args()
    films = all_films(arguments.posts)
    FOLDER.mkdir(parents=True, exist_ok=True)
    failed = 0
    with server() as served, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=[*FLAGS, "--force-color-profile=srgb"])
        for name in arguments.names or films:
            context = browser.new_context(viewport={"width": SIZE[0], "height": SIZE[1]}, reduced_motion="reduce")
            page = context.new_page()
            page.set_default_timeout(30_000)
            page.goto(served.url)
            page.locator(".card .thumb-block").first.wait_for()
            frames: list[Image.Image] = []
            try:
                for gesture in films[name](page):
                    frames.append(shot(page))
                    print(f"{name} {len(frames)}: {gesture}", flush=True)
            except (Error, AssertionError) as error:
                failed += 1
                frames.append(shot(page))
                print(f"{name} failed: {str(error).splitlines()[0]}", flush=True)
            strip_of(frames).save(FOLDER / f"{name}.png", optimize=True)
            context.close()
        browser.close()
    return 1 if failed else 0


def shot(page: Page) -> Image.Image:
    page.mouse.move(2, 2)  # no tooltip
    page.wait_for_timeout(900)  # colours fade, canvases paint
    return Image.open(io.BytesIO(page.screenshot(animations="disabled"))).convert("RGB")


def strip_of(frames: list[Image.Image]) -> Image.Image:
    """The frames in rows."""
    width, height = SIZE
    rows = -(-len(frames) // COLUMNS)
    strip = Image.new("RGB", (COLUMNS * (width + 8), rows * (height + 8)), "#888")
    for at, frame in enumerate(frames):
        strip.paste(frame, (at % COLUMNS * (width + 8), at // COLUMNS * (height + 8)))
    return strip


def all_films(posts: Path | None) -> dict[str, Film]:
    texts = {path.stem: path.read_text() for path in sorted(posts.glob("*.txt"))} if posts else POSTS
    pasted = {f"post_{name}": partial(post, text=text) for name, text in texts.items()}
    return {"start_here": start_here, "own_kernel": own_kernel, "onnx_file": onnx_file, **TILES, **pasted}


POSTS = {"separated": SEPARATED_POST, "early": EARLY_MATMUL_POST, "relax": RELAX_SCHEDULED_POST}


def simulated(page: Page) -> None:
    """Wait for the tree, its costs, the verdict and the suggestions."""
    page.get_by_role("treeitem").first.wait_for()
    expect(page.locator('.headline [data-figure="Cycles"] b').locator("visible=true")).not_to_have_text(
        "…", timeout=SLOW
    )
    page.wait_for_timeout(2_000)


def start_here(page: Page) -> Iterator[str]:
    yield "the start page"
    page.locator('[data-example="place_the_copies"]').click()
    simulated(page)
    yield "Start here"
    for block in ("A_local.vtcm", "B_local.vtcm"):
        drag(page, block, "ko")
        simulated(page)
        yield f"{block} dropped on ko"
    for block in ("A_local.vtcm", "B_local.vtcm"):
        choose(page, block, "Double buffer")
        simulated(page)
    yield "both double buffered"
    page.locator('[data-pane-tab="problems"]').click()
    yield "the problems"
    page.get_by_role("button", name="Export", exact=True).click()
    yield "Export"


def own_kernel(page: Page) -> Iterator[str]:
    paste(page, CONVOLUTION)
    yield "the text is pasted"
    page.get_by_role("button", name="Open", exact=True).click()
    simulated(page)
    yield "Open"
    page.locator(".next-steps > ol > li").first.wait_for(timeout=SLOW)
    yield "the next steps"
    page.locator(".next-steps > ol > li").first.get_by_role("button", name="Apply").click()
    simulated(page)
    yield "Apply"
    page.get_by_role("button", name="Make it fast").first.click()
    page.locator(".xp-film-frame b").wait_for(timeout=SLOW)
    page.wait_for_timeout(8_000)
    yield "Make it fast"


def onnx_file(page: Page) -> Iterator[str]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "perceptron.onnx"
        write_onnx(path)
        page.get_by_label("A file", exact=True).set_input_files(path)
        page.locator(".program-choice").wait_for(timeout=SLOW)
        yield "the file is chosen"
        page.get_by_label("batch (size)").fill("4")
        page.get_by_role("button", name="Open with these values").click()
        page.locator(".graph-node.is-call").first.wait_for(timeout=SLOW)
        expect(page.locator(".status.is-pending")).to_have_count(0, timeout=SLOW)
        yield "the model"
        page.locator(".kernel-rows .kernel-row").first.click()
        simulated(page)
        yield "a kernel"
        page.get_by_role("button", name="Model", exact=True).click()
        page.get_by_role("button", name="Schedule all kernels").click()
        page.wait_for_timeout(15_000)
        yield "all kernels are scheduled"


def tile_stages(page: Page) -> Iterator[str]:
    page.locator('[data-example="tilelang_gemm"]').click()
    simulated(page)
    yield "a GEMM with three stages"
    stages_of(page, "k", 1)
    yield "one stage"
    page.keyboard.press("Control+z")
    simulated(page)
    stages_of(page, "k", 2)
    yield "two stages"
    drag(page, "A_shared_copy", "bx")
    page.wait_for_timeout(2_000)
    yield "a copy dropped on the grid is refused"
    page.locator('[data-pane-tab="next"]').click()
    page.locator(".next-steps > ol > li").first.wait_for(timeout=SLOW)
    yield "the next steps"


def stages_of(page: Page, loop: str, stages: int) -> None:
    row(page, loop).hover()
    row(page, loop).get_by_label(f"Actions of {loop}", exact=True).click()
    page.get_by_role("menuitem", name="Stages…").click()
    page.get_by_label("Stages", exact=True).fill(str(stages))
    page.keyboard.press("Enter")
    simulated(page)


def tile_swizzle(page: Page) -> Iterator[str]:
    open_pasted(page, TRANSPOSED)
    yield "a transposed copy through shared memory"
    page.locator('.row-block [data-act="buffer"]', has_text="tile").first.click()
    page.locator(".layout-card .card-figures").first.wait_for(timeout=SLOW)
    page.locator(".layout-card .tw-badge--good").wait_for(timeout=SLOW)
    yield "the layouts of the tile"
    page.locator('.layout-card[data-card="swizzled"]').click()
    simulated(page)
    yield "the swizzle is in the text"
    page.locator('.row-block [data-act="buffer"]', has_text="turned").first.click()
    page.locator(".layout-card .tw-badge--good").wait_for(timeout=SLOW)
    yield "the layouts of the other tile"


def ascend_slots(page: Page) -> Iterator[str]:
    open_pasted(page, SERIAL_CORES)
    yield "a GEMM on an AI core, one slot for each tile in L1"
    choose(page, "A_L1_copy", "Copy ahead…")
    page.keyboard.press("Enter")
    simulated(page)
    yield "two slots: the loop is T.Pipelined, and the compiler sets the waits"


def ascend_round_trip(page: Page) -> Iterator[str]:
    open_pasted(page, THROUGH_UB)
    yield "a GEMM whose tile of A goes through the unified buffer"
    choose(page, "A_L1_copy", "Copy directly")
    simulated(page)
    yield "the tile goes from global memory to L1"
    choose(page, "A_L1_copy", "Copy ahead…")
    page.keyboard.press("Enter")
    simulated(page)
    yield "and runs ahead"


TILES = {
    "ascend_round_trip": ascend_round_trip,
    "tile_stages": tile_stages,
    "tile_swizzle": tile_swizzle,
    "ascend_slots": ascend_slots,
}
EXAMPLES = Path(tilewright.__file__).parents[1] / "static" / "examples"
SERIAL_CORES = (
    (EXAMPLES / "ascend_gemm_cores.py").read_text().replace("T.Pipelined(K // K_L1, num_stages=2)", "T.serial(K // K_L1)")
    .partition('sch.double_buffer("A_L0_copy")')[0]
)  # fmt: skip
THROUGH_UB = """# %% machine
import tilewright

machine = tilewright.machine("ascend-910b")

# %% workload
import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1])
def gemm(M, N, K, block_M=128, block_N=128, block_K=128, dtype="float16", accum_dtype="float"):
    m_num, n_num = M // block_M, N // block_N

    @T.prim_func
    def main(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(m_num * n_num, threads=2, is_npu=True) as (cid):
            bx = cid // n_num
            by = cid % n_num
            A_ub = T.alloc_ub((block_M, block_K), dtype)
            A_L1 = T.alloc_L1((block_M, block_K), dtype)
            B_L1 = T.alloc_L1((block_K, block_N), dtype)
            C_L0 = T.alloc_L0C((block_M, block_N), accum_dtype)
            for k in T.serial(K // block_K):
                T.copy(A[bx * block_M, k * block_K], A_ub)
                T.copy(B[k * block_K, by * block_N], B_L1)
                T.copy(A_ub, A_L1)
                T.gemm_v0(A_L1, B_L1, C_L0, init=(k == 0))
            T.copy(C_L0, C[bx * block_M, by * block_N])

    return main


main = gemm(M=256, N=256, K=512)

# %% schedule
sch = tilewright.Schedule(main)
"""
TRANSPOSED = """# %% machine
import tilewright

machine = tilewright.machine("sm80")

# %% workload
import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1])
def transposed(M, N, block=64, dtype="float16"):
    @T.prim_func
    def main(A: T.Tensor((M, N), dtype), B: T.Tensor((N, M), dtype)):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=128) as (bx, by):
            tile = T.alloc_shared((block, block), dtype)
            turned = T.alloc_shared((block, block), dtype)
            T.copy(A[by * block, bx * block], tile)
            for i, j in T.Parallel(block, block):
                turned[i, j] = tile[j, i]
            T.copy(turned, B[bx * block, by * block])

    return main


main = transposed(512, 512)

# %% schedule
sch = tilewright.Schedule(main)
"""


def write_onnx(path: Path) -> None:
    """Two layers and a softmax, with an open batch."""
    import onnx
    from onnx import TensorProto, helper

    def weight(name: str, rows: int, columns: int) -> onnx.TensorProto:
        values = [((n * 7) % 13) / 13 for n in range(rows * columns)]
        return helper.make_tensor(name, TensorProto.FLOAT, (rows, columns), values)

    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "w2"], ["s"]),
        helper.make_node("Softmax", ["s"], ["y"], axis=-1),
    ]
    shapes = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", size]) for n, size in (("x", 64), ("y", 16))
    ]
    graph = helper.make_graph(
        nodes, "perceptron", shapes[:1], shapes[1:], [weight("w1", 64, 128), weight("w2", 128, 16)]
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def post(page: Page, text: str) -> Iterator[str]:
    paste(page, text)
    yield "the post is pasted"
    page.get_by_role("button", name="Open", exact=True).click()
    page.wait_for_timeout(3_000)
    yield "Open"
    if page.locator(".own .program-choice").is_visible():
        return
    given = page.get_by_role("button", name="Use these values").first
    if given.is_visible():
        given.click()
        simulated(page)
        yield "the suggested sizes"
    simulated(page)
    page.locator('[data-pane-tab="problems"]').click()
    yield "the problems"
    buffer = page.locator('.row-block [data-act="buffer"]').last
    if buffer.is_visible():
        buffer.click()
        page.wait_for_timeout(3_000)
        yield "a buffer's layout"


def paste(page: Page, text: str) -> None:
    page.get_by_label("A TVMScript program or a notebook").fill(text)


def open_pasted(page: Page, text: str) -> None:
    paste(page, text)
    page.get_by_role("button", name="Open", exact=True).click()
    simulated(page)


if __name__ == "__main__":
    raise SystemExit(main())
