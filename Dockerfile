# The app in a container: docker build -t eyeline . && docker run -p 7860:7860 eyeline
# Port 7860 is that of a Hugging Face Space (sdk: docker). The link with its access token is printed when it starts.
FROM python:3.11-slim
WORKDIR /app
COPY . .
RUN pip install --no-cache-dir -c constraints.txt torch==2.13.0 \
 && pip install --no-cache-dir -c constraints.txt ".[app,plots,gguf,embed]" \
 && sh scripts/install-models python
RUN useradd --create-home visitor && mkdir /workspace && chown visitor /workspace
USER visitor
EXPOSE 7860
CMD ["eyeline", "app", "--host", "0.0.0.0", "--port", "7860", "--no-browser", "--workspace", "/workspace"]
