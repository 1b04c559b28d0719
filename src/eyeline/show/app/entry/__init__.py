"""The script that Streamlit starts."""
