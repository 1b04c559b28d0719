"""Chooses the colours of heads: prints the table of look/palette.py.

Greedy, from the first on: of all colours with a contrast of 3 with white, each is the one farthest (Oklab) from all before
it, as people with normal sight, protanopia, deuteranopia and tritanopia see them (Machado et al. 2009, severity 1), on
white and, lifted, on black. The one just before it counts as half as far away as it is, since neighbours are compared most.
"""

import numpy as np

from eyeline.look.palette import DARK_PAGE, HEAD_COLOURS, rgb

FIRST = HEAD_COLOURS[:1]
COUNT = 48
SIGHT = np.array(
    [
        np.eye(3),
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    ]
)
LMS = np.array(
    [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]]
)
LAB = np.array(
    [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099], [0.0259040371, 0.7827717662, -0.8086757660]]
)
LIGHT = np.array([0.2126, 0.7152, 0.0722])


def linear(rgb):
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def coded(light):
    light = np.clip(light, 0, 1)
    return np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)


def oklab(light):
    return np.cbrt(np.clip(light, 0, None) @ LMS.T) @ LAB.T


def contrast(light, ground):
    a, b = light @ LIGHT + 0.05, ground @ LIGHT + 0.05
    return np.maximum(a, b) / np.minimum(a, b)


def lifted(light):
    """As lifted() of look/palette.py: mixed with white until the contrast with the dark ground is 3."""
    ground = linear(rgb(DARK_PAGE.ground) / 255)
    need = 3.05 * (ground @ LIGHT + 0.05) - 0.05
    y = light @ LIGHT
    t = np.clip((need - y) / (1 - y), 0, 1)[..., None]
    return light + t * (1 - light)


def seen(light):
    """[theme × sight, colour, 3] in Oklab."""
    return np.stack([oklab(np.clip(theme @ sight.T, 0, 1)) for theme in (light, lifted(light)) for sight in SIGHT])


def main():
    steps = np.linspace(0, 1, 24)
    grid = np.stack(np.meshgrid(steps, steps, steps), -1).reshape(-1, 3)
    light = linear(grid)
    lab = oklab(light)
    fit = (contrast(light, np.ones(3)) > 3.06) & (lab[:, 0] > 0.25) & (np.hypot(lab[:, 1], lab[:, 2]) > 0.02)
    grid, light = grid[fit], light[fit]
    candidates = seen(light)
    chosen = [rgb(colour) / 255 for colour in FIRST]
    nearest = np.full(len(grid), np.inf)
    last = None
    for colour in chosen:
        last = np.linalg.norm(candidates - seen(linear(colour)[None]), axis=-1).min(0)
        nearest = np.minimum(nearest, last)
    while len(chosen) < COUNT:
        best = np.argmax(np.minimum(nearest, last / 2))
        chosen.append(np.round(grid[best] * 255) / 255)
        last = np.linalg.norm(candidates - candidates[:, best : best + 1], axis=-1).min(0)
        nearest = np.minimum(nearest, last)
    print(" ".join("#" + "".join(f"{round(c * 255):02x}" for c in colour) for colour in chosen))
    all_seen = seen(linear(np.array(chosen)))
    d = np.linalg.norm(all_seen[:, :, None] - all_seen[:, None], axis=-1)
    for k in (12, 16, 24, 32, 40, 48):
        sub = d[:, :k, :k] + 9 * np.eye(k)
        print(k, [f"{x.min():.3f}" for x in sub])
    print("neighbours", min(d[:, i, i + 1].min() for i in range(COUNT - 1)), [f"{d[:, i, i + 1].min():.3f}" for i in range(COUNT - 1)])


if __name__ == "__main__":
    main()
