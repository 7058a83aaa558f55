crystal.protocol({
  name = "offline",
  stream = function(request, emit)
    emit.text("This is not a language model.")
  end,
})
