# The laboratory as an image, for the CPU by default:
#   docker build -t tactical-board-games .
#   docker run --rm -v "$PWD/outputs:/lab/outputs" tactical-board-games python -m src.train env=minesweeper_8x8 algo=ppo
#   docker run --rm -p 127.0.0.1:8080:8080 tactical-board-games python -m src.play host=0.0.0.0 open_browser=false
# With CUDA, by the wheel of torch for GPUs that is its default on Linux, or by one for a certain version of CUDA:
#   docker build --build-arg TORCH_INDEX= -t tactical-board-games:cuda .
#   docker build --build-arg TORCH_INDEX=https://download.pytorch.org/whl/cu130 -t tactical-board-games:cuda .
#   docker run --rm --gpus all tactical-board-games:cuda python -m src.train env=minesweeper_16x16 algo=ppo
ARG PYTHON=3.12
FROM python:${PYTHON}-slim-bookworm AS base
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
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
ARG EXTRAS=web
# Packages first, so that a change of the code does not install them again.
COPY setup.cfg pyproject.toml constraints.txt README.md LICENSE ./
RUN install -d -o lab -g lab conf src experiments outputs && touch conf/__init__.py src/__init__.py \
    && pip install --no-cache-dir --root-user-action=ignore -c constraints.txt -e ".[$EXTRAS]"
COPY --chown=lab:lab conf conf
COPY --chown=lab:lab src src
COPY --chown=lab:lab experiments experiments
USER lab
EXPOSE 8080
CMD ["python", "-m", "src.train", "--help"]
