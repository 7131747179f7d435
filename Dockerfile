# The laboratory as an image:
#   docker build -t boardlab .
#   docker run --rm --user "$(id -u):$(id -g)" -v "$PWD/outputs:/lab/outputs" boardlab python -m src.train env=minesweeper_8x8 algo=ppo
#   docker run --rm -p 127.0.0.1:8080:8080 boardlab python -m src.play host=0.0.0.0 open_browser=false
# torch for GPUs is its default on Linux: docker run --rm --gpus all boardlab python -m src.train env=minesweeper_16x16 algo=ppo
# For the CPU alone, a much smaller image, or another version of CUDA, name the index of torch that its installation page gives:
#   docker build --build-arg TORCH_INDEX=<address ending in /cpu> -t boardlab:cpu .
ARG PYTHON=3.12
FROM python:${PYTHON}-slim-bookworm AS base
ARG TORCH_INDEX=
# Where pip finds torch beside the usual index; constraints.txt has its version.
ENV PIP_EXTRA_INDEX_URL=${TORCH_INDEX} PYTHONUNBUFFERED=1
# torch compiles kernels for GPUs with a C compiler.
RUN case "$TORCH_INDEX" in */cpu) ;; *) \
      apt-get update -qq && apt-get install -y -qq --no-install-recommends gcc libc6-dev \
      && rm -rf /var/lib/apt/lists/* ;; \
    esac
RUN useradd --create-home --uid 1000 lab && install -d -o lab -g lab /lab
WORKDIR /lab

# To develop in, with the repository mounted (.devcontainer): what the Makefile and .ci/run need.
FROM base AS dev
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends git make chromium chromium-driver \
    && rm -rf /var/lib/apt/lists/*
USER lab

# To train, evaluate and play.
FROM base AS run
ARG EXTRAS=train,web
# Packages first, so that a change of the code does not install them again.
COPY setup.cfg setup.py pyproject.toml constraints.txt README.md LICENSE ./
COPY src/__init__.py src/
RUN install -d -o lab -g lab conf src src/hydra_plugins experiments && touch conf/__init__.py \
    && pip install --no-cache-dir --root-user-action=ignore -c constraints.txt -e ".[$EXTRAS]"
COPY --chown=lab:lab conf conf
COPY --chown=lab:lab src src
COPY --chown=lab:lab experiments experiments
# Whoever runs it, such as the owner of a mounted folder, can write outputs and caches.
RUN install -d -m 1777 outputs home
ENV HOME=/lab/home USER=lab
USER lab
EXPOSE 8080
CMD ["python", "-m", "src.train", "--help"]
