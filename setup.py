"""Installation, by pip and by colcon alike.

The executables of the nodes are files in ``executables/``, installed to ``lib/rffpsr_ros`` where
``ros2 run`` and launch look for them. They are data files because pip ignores the script folder
that ament packages usually name in setup.cfg. A new node is a new file there: nothing changes here.
"""

from glob import glob

from setuptools import find_packages, setup

PACKAGE = "rffpsr_ros"

# Folder under the installation prefix -> files of this repository.
DATA_FILES = {
    "share/ament_index/resource_index/packages": [f"resource/{PACKAGE}"],
    f"share/{PACKAGE}": ["package.xml"],
    f"share/{PACKAGE}/launch": sorted(glob("launch/*.launch.*")),
    f"share/{PACKAGE}/config": sorted(glob("config/*.yaml")),
    f"share/{PACKAGE}/config/sros2": sorted(glob("config/sros2/*.policy.xml")),
    f"share/{PACKAGE}/layouts": sorted(glob("layouts/*")),
    f"share/{PACKAGE}/worlds": sorted(glob("worlds/*.sdf")),
    f"lib/{PACKAGE}": sorted(glob("executables/*")),
}

setup(
    name=PACKAGE,
    version="0.1.0",
    description="Learns how a robot responds to commands from its recorded topics, and predicts "
    "its future live.",
    author="The rffpsr_ros contributors",
    maintainer="rffpsr_ros maintainers (see the repository)",
    maintainer_email="maintainers@rffpsr-ros.example",  # nobody reads mail there
    license="Apache-2.0",
    packages=find_packages(include=[PACKAGE, f"{PACKAGE}.*"]),
    package_data={PACKAGE: ["py.typed", "report/page.css", "report/page.js"]},
    data_files=[(folder, files) for folder, files in DATA_FILES.items() if files],
    zip_safe=False,
    python_requires=">=3.10",
    install_requires=[
        "numpy>=1.24",
        "scipy>=1.10",
        "threadpoolctl>=3.1",
        "PyYAML>=6.0",
        "rosbags>=0.11.7",
        "tqdm>=4.64",
    ],
    extras_require={
        "plot": ["matplotlib>=3.6"],
        "images": ["Pillow>=9.4"],
        # Worlds without Gazebo. No rosdep key: whoever has Gazebo does not need it. There are no
        # wheels for Linux on other processors.
        "sdf": ["drake>=1.20; sys_platform != 'linux' or platform_machine == 'x86_64'"],
        # The filter's step compiled. Without it numpy does the same, slower; no rosdep key.
        "fast": ["numba>=0.57"],
        # Models written for onnxruntime and CasADi. No rosdep keys: whoever exports can use pip.
        "export": ["onnx>=1.13", "casadi>=3.6"],
        # Learning on several machines. No rosdep key: only who trains needs it.
        "cluster": ["dask>=2023.5", "distributed>=2023.5"],
        # colcon runs pytest because it finds it under this name. pytest 9 breaks launch_testing.
        "test": [
            "pytest>=7.2,<9",
            "hypothesis>=6.60",
            "catkin_pkg>=0.5.2",
            "setuptools>=65",
            "onnxruntime>=1.14",
        ],
        # The site of docs/, and the notebooks in it. No rosdep keys: no robot needs them.
        "docs": [
            "sphinx>=7.2",
            "furo>=2024.1.29",
            "myst-nb>=1.1",
            "sphinx-copybutton>=0.5.2",
            "sphinx-mathjax-offline>=0.0.2",
            "nbclient>=0.7",
            "ipykernel>=6.20",
        ],
        "lint": ["ruff>=0.9", "mypy>=1.11", "types-PyYAML", "types-tqdm", "scipy-stubs"],
    },
    entry_points={
        "console_scripts": ["rffpsr = rffpsr_ros.cli.main:main"],
    },
)
