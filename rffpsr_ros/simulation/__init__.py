"""Systems and excitation signals as plain functions."""
