# The package in a ROS 2 workspace of its own, learner and filter ready to run.
#
#   docker build -t rffpsr_ros .                              # ROS 2 Kilted
#   docker build -t rffpsr_ros --build-arg ROS=jazzy .        # ROS 2 Jazzy
#   docker run --rm --net host --ipc host -v "$PWD:/data" rffpsr_ros \
#       ros2 launch rffpsr_ros filter.launch.py model_path:=/data/robot.psr
#   docker run --rm -v "$PWD:/data" rffpsr_ros rffpsr inspect /data/run.bag
#
# --ipc host lets Fast DDS use shared memory with nodes outside of the container.
ARG ROS=kilted
FROM ros:${ROS}-ros-core

SHELL ["/bin/bash", "-o", "pipefail", "-c"]
ENV DEBIAN_FRONTEND=noninteractive

# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends \
        python3-colcon-common-extensions python3-hypothesis python3-matplotlib python3-numba \
        python3-numpy python3-pil python3-pip python3-pytest python3-scipy python3-threadpoolctl \
        python3-tqdm python3-venv python3-yaml \
        "ros-${ROS_DISTRO}-diagnostic-msgs" "ros-${ROS_DISTRO}-geometry-msgs" \
        "ros-${ROS_DISTRO}-nav-msgs" "ros-${ROS_DISTRO}-sensor-msgs" \
        "ros-${ROS_DISTRO}-std-srvs" "ros-${ROS_DISTRO}-trajectory-msgs" \
    && rm -rf /var/lib/apt/lists/*

# rosbags is no package of this Ubuntu: an environment that sees ROS holds it (docs/installation.md).
ENV VIRTUAL_ENV=/opt/venv PATH=/opt/venv/bin:$PATH
# hadolint ignore=DL3013
RUN python3 -m venv --system-site-packages "$VIRTUAL_ENV" \
    && pip install --no-cache-dir "rosbags>=0.11.7" \
        "numpy==$(/usr/bin/python3 -c 'import numpy; print(numpy.__version__)')"

WORKDIR /ws
COPY . src/rffpsr_ros
RUN . "/opt/ros/${ROS_DISTRO}/setup.bash" \
    && python3 -m colcon build --packages-select rffpsr_ros \
    && rm -rf build log

# The entrypoint of the image sources ROS; from here on this workspace as well.
RUN sed -i '/^exec /i source /ws/install/setup.bash' /ros_entrypoint.sh
